#pragma once

#include <string>
#include <vector>

namespace meshwork::config {

/// Folders that may hold what is installed as `name` ("datasets", "configs"), best first: that of
/// share/meshwork beside the program's folder, where an installation and a build have it, then that
/// of the prefix the program was configured for. They need not exist.
std::vector<std::string> installed_directories(const std::string& name);

}  // namespace meshwork::config
