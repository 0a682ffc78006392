#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/launch.h"

namespace meshwork {

/// One core and the logical processors (hardware threads) of it that may be used.
using Core = std::vector<int>;

/// The cores among these logical processors, in the order of their first one. `root` stands before
/// /sys, for tests.
std::vector<Core> cores_of(const std::vector<int>& processors, const std::string& root = "");

/// The logical processors that process `pid` may run on; 0 is the calling thread.
std::vector<int> allowed_processors(int pid = 0);

/// Processors that the cgroups (v1 or v2) of this process allow at a time, by their quota and
/// period; infinity without a limit. `root` stands before /proc and /sys, for tests.
double cgroup_processors(const std::string& root = "");

/// Cores of this node that the job may use, at least 1: those mpirun itself may use (it gives each
/// rank less), cut by the cgroup's quota.
int available_cores();

/// Threads for each of `local_devices` devices on this node, be they ranks or threads of one
/// process: max(1, cores / devices), so the launch does not change the number of threads; or what
/// the user says with OMP_NUM_THREADS. Throws Error where that is more than 1024.
int threads_per_device(int local_devices);

/// Share `index` of `shares`: disjoint blocks of cores, equal but for a remainder; all cores where
/// there are fewer cores than shares.
std::vector<Core> fair_share(const std::vector<Core>& cores, int index, int shares);

/// To be called first in main. mpirun binds a rank to one core or socket unless told otherwise,
/// which leaves the threads of a rank on one core: where it did so on its own account, binds this
/// rank to its fair share of what mpirun may use. Where a device has several threads, asks OpenMP
/// for waits that end in sleep (base/wait.h). Then runs the program anew, because OpenMP counts
/// cores and reads its settings while it is loaded; or leaves all as the user set it.
void prepare_process(char** argv);

/// The cores that `devices` threads of this process are to share out among them, as ranks would;
/// none where they are to stay unbound: one device, more devices than cores, or a binding of the
/// user's (OMP_PROC_BIND, OMP_PLACES).
std::vector<Core> cores_for_threads(int devices);

/// Binds the calling thread, and those it will start, to `cores` until the end of the scope; to
/// none: leaves it as it is. Unbound threads that wait for each other may stay on one core for
/// long.
class BoundThread {
 public:
  explicit BoundThread(const std::vector<Core>& cores);
  ~BoundThread();
  BoundThread(const BoundThread&) = delete;
  BoundThread& operator=(const BoundThread&) = delete;

 private:
  std::vector<int> before_;
};

/// What a user asks to know of the machine and the job.
struct DeviceDescription {
  std::string host;
  std::string processor;
  std::vector<std::string> features;  ///< of those that kernels use: avx2, avx512f, avx512_bf16...
  int cores = 1;                      ///< that the job may use here
  int processors = 1;                 ///< logical processors of this process
  double cgroup_processors = 0;       ///< infinity without a limit
  std::int64_t memory = 0;            ///< bytes in the machine
  std::int64_t available_memory = 0;  ///< bytes allowed
  int threads_per_device = 1;
  JobLaunch launch;
};

DeviceDescription describe_devices(const std::string& root = "");

}  // namespace meshwork
