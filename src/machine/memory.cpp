#include "machine/memory.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

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

}  // namespace meshwork
