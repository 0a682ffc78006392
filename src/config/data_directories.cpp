#include "config/data_directories.h"

#include <filesystem>

#include "config/install_paths.h"

namespace meshwork::config {

std::vector<std::string> installed_directories(const std::string& name) {
  namespace fs = std::filesystem;
  std::vector<std::string> result;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path folder = program.parent_path();
    // <prefix>/bin/meshwork, and <source>/<build>/src/meshwork
    result.push_back((folder / "../share/meshwork" / name).lexically_normal());
    result.push_back((folder / "../.." / name).lexically_normal());
  }
  const std::string installed = (fs::path(kInstalledData) / name).string();
  if (result.empty() || result[0] != installed) result.push_back(installed);
  return result;
}

}  // namespace meshwork::config
