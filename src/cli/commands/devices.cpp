#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/rank.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork devices
  mpirun -n 4 meshwork devices
      how many ranks the launcher made, and the cores that rank 0 may use

Without mpirun a mesh of any size runs on virtual devices, one thread each; they share these cores.)";

std::string bytes(long count) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(count);
  std::size_t unit = 0;
  for (; size >= 1024.0 && unit < 4; ++unit) size /= 1024.0;
  return size < 10.0 && unit > 0 ? fmt::format("{:.1f} {}", size, kUnits[unit])
                                 : fmt::format("{:.0f} {}", size, kUnits[unit]);
}

/// Cores that this process may run on: a launcher may have bound it to some.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

std::string cores() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  const int usable = usable_cores();
  if (usable > 0 && usable < online) return fmt::format("{} of {}", usable, online);
  return fmt::format("{}", online);
}

std::string memory() {
  const long page = sysconf(_SC_PAGESIZE);
  return fmt::format("{}, {} free", bytes(sysconf(_SC_PHYS_PAGES) * page),
                     bytes(sysconf(_SC_AVPHYS_PAGES) * page));
}

std::string caches() {
  std::vector<std::string> parts;
  const std::pair<const char*, int> levels[] = {{"L1d", _SC_LEVEL1_DCACHE_SIZE},
                                                {"L2", _SC_LEVEL2_CACHE_SIZE},
                                                {"L3", _SC_LEVEL3_CACHE_SIZE}};
  for (const auto& [name, key] : levels) {
    const long size = sysconf(key);
    if (size > 0) parts.push_back(fmt::format("{} {}", name, bytes(size)));
  }
  return parts.empty() ? "unknown" : fmt::format("{}", fmt::join(parts, ", "));
}

/// The extensions that decide which kernels run.
std::string instruction_set() {
#if defined(__x86_64__)
  const std::pair<const char*, int> extensions[] = {
      {"sse4.2", __builtin_cpu_supports("sse4.2")},
      {"avx", __builtin_cpu_supports("avx")},
      {"avx2", __builtin_cpu_supports("avx2")},
      {"fma", __builtin_cpu_supports("fma")},
      {"avx512f", __builtin_cpu_supports("avx512f")},
      {"avx512bw", __builtin_cpu_supports("avx512bw")},
      {"avx512vl", __builtin_cpu_supports("avx512vl")},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni")},
      {"avx512bf16", __builtin_cpu_supports("avx512bf16")},
  };
  std::vector<std::string> present = {"x86-64"};
  for (const auto& [name, supported] : extensions) {
    if (supported != 0) present.emplace_back(name);
  }
  return fmt::format("{}", fmt::join(present, " "));
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

ExitCode devices() {
  if (launched_rank() != 0) return ExitCode::kOk;
  fmt::print("this machine\n");
  fmt::print("  cores   {}\n", cores());
  fmt::print("  memory  {}\n", memory());
  fmt::print("  caches  {}\n", caches());
  fmt::print("  isa     {}\n", instruction_set());
  fmt::print("this job\n");
  const int size = launched_size();
  fmt::print("  ranks   {}\n", size == 1 ? "1 (virtual devices, one thread each)"
                                         : fmt::format("{} (one device each)", size));
  return ExitCode::kOk;
}

Run add(CLI::App&) { return devices; }

}  // namespace

extern const Command kDevices{
    .name = "devices",
    .usage = "[options]",
    .summary = "what this machine and this job have",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli
