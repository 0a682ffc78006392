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
    // <prefix>/bin/meshwork, or <build>/src/meshwork
    const fs::path shared = program.parent_path() / "../share/meshwork";
    result.push_back((shared / name).lexically_normal());
  }
  const std::string installed = (fs::path(kInstalledData) / name).string();
  if (result.empty() || result[0] != installed) result.push_back(installed);
  return result;
}

}  // namespace meshwork::config
