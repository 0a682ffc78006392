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

/// Throws Error where a limit on the address space (ulimit -v) leaves this process too little for
/// so many threads that compute: libraries that get no memory for a stack or for code that they
/// make end the process without a word.
void check_address_space(int threads);

}  // namespace meshwork
