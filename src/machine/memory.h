#pragma once

#include <cstdint>
#include <string>

namespace meshwork {

/// Bytes of memory in the machine. `root` stands before /proc and /sys, for tests.
std::int64_t machine_memory(const std::string& root = "");

/// Bytes of memory that this process may use: the machine's, or less by cgroup.
std::int64_t available_memory(const std::string& root = "");

/// Bytes of these that can be had now without swapping, as the system estimates them; the greatest
/// number where it does not.
std::int64_t free_memory(const std::string& root = "");

}  // namespace meshwork
