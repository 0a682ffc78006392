#include "machine/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "base/byte_size.h"
#include "base/error.h"
#include "machine/cgroup.h"
#include "machine/system_file.h"

namespace meshwork {
namespace {

/// Bytes of a line such as "MemTotal:  2048 kB" of /proc/meminfo; 0 if there is none.
std::int64_t memory_line(const std::string& root, const char* key) {
  return std::strtoll(field_of(root + "/proc/meminfo", key).c_str(), nullptr, 10) * 1024;
}

}  // namespace

std::int64_t machine_memory(const std::string& root) { return memory_line(root, "MemTotal"); }

std::int64_t available_memory(const std::string& root) {
  std::int64_t least = machine_memory(root);
  for (const std::string& folder : cgroup_folders("memory", root)) {
    for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
      const std::int64_t limit = std::strtoll(first_line(folder + name).c_str(), nullptr, 10);
      if (limit > 0) least = std::min(least, limit);  // "max" and an absent file read as 0
    }
  }
  return least;
}

std::int64_t free_memory(const std::string& root) {
  const std::int64_t free = memory_line(root, "MemAvailable");
  if (free == 0) return std::numeric_limits<std::int64_t>::max();
  return std::min(free, available_memory(root));
}

void check_address_space(int threads) {
  // A stack and the arena that the C library sets aside, and what oneDNN and OpenMP take.
  constexpr std::uint64_t kOfThread = std::uint64_t{144} << 20U;
  constexpr std::uint64_t kOfProcess = std::uint64_t{128} << 20U;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::uint64_t used = std::strtoull(first_line("/proc/self/statm").c_str(), nullptr, 10) *
                             static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
  const std::uint64_t needed = kOfProcess + kOfThread * static_cast<std::uint64_t>(threads);
  if (left >= needed) return;
  fail(
      "the address space is limited to {} (ulimit -v), of which {} are left, but {} may "
      "take up to {}; raise the limit, or take fewer devices or threads (OMP_NUM_THREADS)",
      show_bytes(limit.rlim_cur), show_bytes(left),
      threads > 0 ? fmt::format("{} thread{}", threads, threads == 1 ? "" : "s")
                  : "the process and its libraries",
      show_bytes(needed));
}

}  // namespace meshwork
