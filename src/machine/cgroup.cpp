#include "machine/cgroup.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace meshwork {
namespace {

bool has_word(const std::string& commas, std::string_view word) {
  std::istringstream words(commas);
  for (std::string each; std::getline(words, each, ',');) {
    if (each == word) return true;
  }
  return false;
}

struct Mount {
  std::string root;   ///< the cgroup seen at `point`
  std::string point;  ///< where it is mounted
};

/// The mount of a controller, or of the unified hierarchy where it is "".
std::optional<Mount> find_mount(const std::string& controller, const std::string& root) {
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // 32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
    std::istringstream words(line);
    std::string id, parent, device, word, type, source, options;
    Mount mount;
    words >> id >> parent >> device >> mount.root >> mount.point;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    const bool unified = type == "cgroup2" && controller.empty();
    const bool version_1 = type == "cgroup" && !controller.empty() && has_word(options, controller);
    if (unified || version_1) return mount;
  }
  return std::nullopt;
}

/// The path of this process in the hierarchy of a controller.
std::optional<std::string> find_path(const std::string& controller, const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // 4:cpu,cpuacct:/docker/1234   0::/user.slice
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_word(controllers, controller)) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

void add_folders(const std::string& controller, const std::string& root,
                 std::vector<std::string>& folders) {
  const auto mount = find_mount(controller, root);
  auto path = find_path(controller, root);
  if (!mount || !path) return;
  // In a container the path is the host's, and the mount shows its end only.
  if (mount->root != "/" && path->starts_with(mount->root)) path->erase(0, mount->root.size());
  const std::string point = root + mount->point;
  while (!path->empty() && *path != "/") {
    folders.push_back(point + *path);
    path->erase(path->find_last_of('/'));
  }
  folders.push_back(point);
}

}  // namespace

std::vector<std::string> cgroup_folders(const std::string& controller, const std::string& root) {
  std::vector<std::string> folders;
  add_folders(controller, root, folders);
  add_folders("", root, folders);
  return folders;
}

}  // namespace meshwork
