#include "machine/topology.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/launcher.h"
#include "base/wait.h"
#include "machine/binding.h"
#include "machine/cgroup.h"
#include "machine/memory.h"
#include "machine/system_file.h"

namespace meshwork {
namespace {

// A machine with more processors than this is beyond any that Linux runs on.
constexpr int kMaxProcessors = 65536;

struct CpuSet {
  CpuSet() : set(CPU_ALLOC(kMaxProcessors)) {
    MW_CHECK(set != nullptr);
    CPU_ZERO_S(bytes(), set);
  }
  ~CpuSet() { CPU_FREE(set); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
  static std::size_t bytes() { return CPU_ALLOC_SIZE(kMaxProcessors); }

  cpu_set_t* set;
};

std::vector<int> job_processors() {
  const int pid = bound_by_default() ? launcher_process() : 0;
  std::vector<int> processors = allowed_processors(pid);
  return processors.empty() ? allowed_processors(0) : processors;
}

std::vector<std::string> kernel_features(const std::string& root) {
  constexpr std::array kKnown{"avx2",        "fma",         "avx512f",  "avx512_vnni",
                              "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16",
                              "asimd",       "sve",         "bf16"};
  std::string flags = field_of(root + "/proc/cpuinfo", "flags");
  if (flags.empty()) flags = field_of(root + "/proc/cpuinfo", "Features");
  std::vector<std::string> present;
  std::istringstream words(flags);
  for (std::string word; words >> word;) present.push_back(word);
  std::vector<std::string> result;
  for (const char* known : kKnown) {
    if (std::count(present.begin(), present.end(), known) > 0) result.emplace_back(known);
  }
  return result;
}

/// Binds the calling thread.
bool bind_to(const std::vector<Core>& cores) {
  const CpuSet cpus;
  for (const Core& core : cores) {
    for (const int processor : core) {
      CPU_SET_S(static_cast<std::size_t>(processor), CpuSet::bytes(), cpus.set);
    }
  }
  return sched_setaffinity(0, CpuSet::bytes(), cpus.set) == 0;
}

}  // namespace

std::vector<int> allowed_processors(int pid) {
  const CpuSet cpus;
  std::vector<int> processors;
  if (sched_getaffinity(pid, CpuSet::bytes(), cpus.set) != 0) return processors;
  const auto count = static_cast<std::size_t>(CPU_COUNT_S(CpuSet::bytes(), cpus.set));
  for (int i = 0; processors.size() < count; ++i) {
    if (CPU_ISSET_S(static_cast<std::size_t>(i), CpuSet::bytes(), cpus.set)) {
      processors.push_back(i);
    }
  }
  return processors;
}

std::vector<Core> cores_of(const std::vector<int>& processors, const std::string& root) {
  std::vector<Core> cores;
  std::vector<std::string> siblings;  // of each core, such as "0,64"
  for (const int processor : processors) {
    const std::string list = first_line(fmt::format(
        "{}/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", root, processor));
    const auto known = std::find(siblings.begin(), siblings.end(), list);
    if (list.empty() || known == siblings.end()) {
      siblings.push_back(list);
      cores.push_back({processor});
    } else {
      cores[static_cast<std::size_t>(known - siblings.begin())].push_back(processor);
    }
  }
  return cores;
}

double cgroup_processors(const std::string& root) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::string& folder : cgroup_folders("cpu", root)) {
    std::istringstream text(first_line(folder + "/cpu.max") +
                            first_line(folder + "/cpu.cfs_quota_us") + " " +
                            first_line(folder + "/cpu.cfs_period_us"));
    double quota = -1;  // "max 100000" and "-1 100000" are no limit
    double period = 0;
    if (text >> quota >> period && quota > 0 && period > 0) least = std::min(least, quota / period);
  }
  return least;
}

namespace {

/// As cores_of(), which reads files: once for each set of processors.
std::vector<Core> known_cores(const std::vector<int>& processors) {
  static std::mutex mutex;
  static std::map<std::vector<int>, std::vector<Core>> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace(processors);
  if (is_new) found->second = cores_of(processors);
  return found->second;
}

}  // namespace

int available_cores() {
  static const double quota = cgroup_processors();
  const auto cores = static_cast<double>(known_cores(job_processors()).size());
  return std::max(1, static_cast<int>(std::min(cores, quota)));
}

namespace {

/// OpenMP's library takes memory for each and ends the process where the system refuses one.
constexpr int kMostThreads = 1024;

/// The first number of OMP_NUM_THREADS, or 0.
int threads_wanted() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr) return 0;
  const long wanted = std::strtol(text, nullptr, 10);
  if (wanted > kMostThreads) {
    fail(
        "environment: OMP_NUM_THREADS is '{}'; give at most {}, or unset it for the {} cores of "
        "this machine",
        text, kMostThreads, available_cores());
  }
  return static_cast<int>(std::max(0L, wanted));
}

}  // namespace

int threads_per_device(int local_devices) {
  MW_CHECK(local_devices > 0);
  if (const int wanted = threads_wanted(); wanted > 0) return wanted;
  return std::max(1, available_cores() / local_devices);
}

std::vector<Core> fair_share(const std::vector<Core>& cores, int index, int shares) {
  MW_CHECK(index >= 0 && index < shares, "share {} of {}", index, shares);
  const int count = static_cast<int>(cores.size());
  if (count < shares) return cores;
  const auto at = [&](int share) { return cores.begin() + std::int64_t{count} * share / shares; };
  return {at(index), at(index + 1)};
}

namespace {

/// Whether it did, now.
bool bind_to_fair_share(const JobLaunch& launch) {
  constexpr const char* kDone = "MESHWORK_CORES_BOUND";
  if (!bound_by_default() || std::getenv(kDone) != nullptr) return false;
  const auto share = fair_share(cores_of(job_processors()), launch.local_rank, launch.local_size);
  return bind_to(share) && setenv(kDone, "1", 1) == 0;  // else as mpirun bound it
}

}  // namespace

void prepare_process(char** argv) {
  const JobLaunch launch = launch_from_environment();
  check_address_space(0);
  const bool is_bound = bind_to_fair_share(launch);
  const bool is_asked = threads_per_device(launch.local_size) > 1 && ask_openmp_to_sleep();
  // Returns only on failure, and then the program just goes on.
  if (is_bound || is_asked) execv("/proc/self/exe", argv);
}

std::vector<Core> cores_for_threads(int devices) {
  const bool by_user =
      std::getenv("OMP_PROC_BIND") != nullptr || std::getenv("OMP_PLACES") != nullptr;
  if (by_user || devices < 2 || devices > available_cores()) return {};
  return known_cores(allowed_processors());
}

BoundThread::BoundThread(const std::vector<Core>& cores) {
  if (!cores.empty()) before_ = allowed_processors();
  if (!before_.empty()) bind_to(cores);
}

BoundThread::~BoundThread() {
  if (!before_.empty()) bind_to({before_});
}

DeviceDescription describe_devices(const std::string& root) {
  DeviceDescription result;
  result.host = host_name();
  result.processor = field_of(root + "/proc/cpuinfo", "model name");
  if (result.processor.empty()) result.processor = "unknown processor";
  result.features = kernel_features(root);
  result.cores = available_cores();
  result.processors = static_cast<int>(allowed_processors().size());
  result.cgroup_processors = cgroup_processors(root);
  result.memory = machine_memory(root);
  result.available_memory = available_memory(root);
  result.launch = launch_from_environment();
  result.threads_per_device = threads_per_device(result.launch.local_size);
  return result;
}

}  // namespace meshwork
