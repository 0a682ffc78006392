#pragma once

#include <string>
#include <vector>

namespace meshwork::config {

/// Folders that may hold what is installed as `name` ("datasets", "configs"), best first: relative
/// to the program (share/meshwork of its prefix, or the source tree it was built in), then the
/// prefix it was configured for. They need not exist.
std::vector<std::string> installed_directories(const std::string& name);

}  // namespace meshwork::config
