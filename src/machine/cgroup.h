#pragma once

#include <string>
#include <vector>

namespace meshwork {

/// The folders of this process's cgroup that have `controller` (version 1) and of the unified
/// hierarchy (version 2), innermost first up to the mount point: each may set a limit.
/// `root` stands before /proc and /sys, for tests.
std::vector<std::string> cgroup_folders(const std::string& controller, const std::string& root);

}  // namespace meshwork
