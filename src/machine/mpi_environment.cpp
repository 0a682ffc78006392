#include "machine/mpi_environment.h"

#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "base/wait.h"
#include "machine/topology.h"

namespace meshwork {
namespace {

// What one rank takes of /dev/shm: a segment of 4 MiB, the default of Open MPI 4.1, and tables.
constexpr const char* kSegmentBytes = "4194304";
constexpr std::uint64_t kSharedBytesPerRank = std::uint64_t{6} << 20U;

void set_default(const char* name, const char* value) { setenv(name, value, 0); }

bool enough_shared_memory(int local_ranks) {
  struct statvfs info {};
  if (statvfs("/dev/shm", &info) != 0) return false;
  const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize;
  return free >= kSharedBytesPerRank * static_cast<std::uint64_t>(local_ranks);
}

/// Whether mpirun says that all ranks are on this node; where it says nothing, they need not be.
bool is_one_node(const JobLaunch& launch) {
  return std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE") != nullptr && launch.local_size == launch.size;
}

}  // namespace

bool can_read_other_processes() {
  int yama = 0;  // from 2 on only an administrator may; 1 can be granted, which Open MPI does
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> yama;
  char from = 1;
  char to = 0;
  const iovec source{&from, 1};
  const iovec target{&to, 1};
  return yama < 2 && process_vm_readv(getpid(), &target, 1, &source, 1, 0) == 1;
}

void prepare_mpi_environment(const JobLaunch& launch) {
  set_default("OMPI_MCA_btl_base_warn_component_unused", "0");
  set_default("OMPI_MCA_btl_openib_warn_no_device_params_found", "0");
  set_default("OMPI_MCA_mca_base_component_show_load_errors", "0");
  // What is vader in Open MPI 4 is sm in 5.
  if (!can_read_other_processes()) {
    set_default("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    set_default("OMPI_MCA_smsc", "^cma");
  }
  set_default("OMPI_MCA_btl_sm_segment_size", kSegmentBytes);
  if (!enough_shared_memory(launch.local_size)) {
    const char* temporary = std::getenv("TMPDIR");
    for (const char* name :
         {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}) {
      set_default(name, temporary != nullptr ? temporary : "/tmp");
    }
  }
  // Open MPI 5 complains where interfaces of one machine do not reach each other. What is for
  // libfabric, in Open MPI 4.1, sleeps for a second at the end of each rank.
  if (is_one_node(launch)) set_default("OMPI_MCA_btl", "^tcp,ofi");
  set_default("UCX_DEBUG_SIGNO", "0");  // SIGHUP would make it print more, and not end the process
  // Send, from where the data are (1 + 8). Put, which Open MPI prefers for large messages over TCP,
  // holds back its own acknowledgements behind data: two ranks then send by turns.
  set_default("OMPI_MCA_btl_tcp_flags", "9");
  set_default("OMPI_MCA_mpi_yield_when_idle", "1");
}

std::chrono::nanoseconds rank_spin_time() {
  static const auto time = spin_time(launch_from_environment().local_size, available_cores());
  return time;
}

}  // namespace meshwork
