#include "machine/topology.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "comm/thread.h"
#include "machine/binding.h"
#include "machine/memory.h"
#include "support/environment_variable.h"

namespace meshwork {
namespace {

using testing::EnvironmentVariable;

/// A machine of files: a folder that stands before /proc and /sys.
class FakeMachine {
 public:
  FakeMachine() : root_(std::filesystem::temp_directory_path() / "meshwork-machine-XXXXXX") {
    std::string pattern = root_.string();
    root_ = mkdtemp(pattern.data());
  }
  ~FakeMachine() { std::filesystem::remove_all(root_); }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("topology: hardware threads of a core are one core") {
  const FakeMachine machine;
  for (int i = 0; i < 4; ++i) {
    machine.write(
        "/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/thread_siblings_list",
        i % 2 == 0 ? "0,2\n" : "1,3\n");
  }
  CHECK(cores_of({0, 1, 2, 3}, machine.root()) == std::vector<Core>{{0, 2}, {1, 3}});
  CHECK(cores_of({1, 2, 3}, machine.root()) == std::vector<Core>{{1, 3}, {2}});
  CHECK(cores_of({0, 1, 2}, "/nowhere") == std::vector<Core>{{0}, {1}, {2}});
}

TEST_CASE("topology: shares are disjoint and cover all cores") {
  std::vector<Core> cores;
  for (int i = 0; i < 10; ++i) cores.push_back({i});
  for (int shares = 1; shares <= 10; ++shares) {
    std::vector<Core> together;
    for (int share = 0; share < shares; ++share) {
      const auto part = fair_share(cores, share, shares);
      CHECK(static_cast<int>(part.size()) >= 10 / shares);
      together.insert(together.end(), part.begin(), part.end());
    }
    CHECK(together == cores);
  }
  CHECK(fair_share(cores, 7, 11) == cores);
}

TEST_CASE("topology: quota and memory of version 2, the least of all folders") {
  const FakeMachine machine;
  machine.write("/proc/self/cgroup", "0::/job/step\n");
  machine.write("/proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  machine.write("/proc/meminfo", "MemTotal:       1000 kB\nMemFree:         10 kB\n");
  CHECK(std::isinf(cgroup_processors(machine.root())));
  CHECK(available_memory(machine.root()) == 1000 * 1024);
  CHECK(free_memory(machine.root()) == std::numeric_limits<std::int64_t>::max());
  machine.write("/proc/meminfo", "MemTotal:       1000 kB\nMemAvailable:   700 kB\n");
  CHECK(free_memory(machine.root()) == 700 * 1024);
  machine.write("/sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  machine.write("/sys/fs/cgroup/job/step/memory.max", "max\n");
  CHECK(std::isinf(cgroup_processors(machine.root())));
  machine.write("/sys/fs/cgroup/job/cpu.max", "250000 100000\n");
  machine.write("/sys/fs/cgroup/job/memory.max", "409600\n");
  CHECK(cgroup_processors(machine.root()) == 2.5);
  CHECK(available_memory(machine.root()) == 409600);
  CHECK(free_memory(machine.root()) == 409600);
}

TEST_CASE("topology: quota and memory of version 1, in a container that sees the host's path") {
  const FakeMachine machine;
  machine.write("/proc/self/cgroup", "4:cpu,cpuacct:/docker/123\n3:memory:/docker/123\n0::/\n");
  machine.write(
      "/proc/self/mountinfo",
      "32 31 0:29 /docker/123 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
      "33 31 0:30 /docker/123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  machine.write("/proc/meminfo", "MemTotal: 4000 kB\n");
  machine.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  machine.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  machine.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(std::isinf(cgroup_processors(machine.root())));
  CHECK(available_memory(machine.root()) == 4000 * 1024);
  machine.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  machine.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
  CHECK(cgroup_processors(machine.root()) == 0.5);
  CHECK(available_memory(machine.root()) == 1048576);
}

TEST_CASE("topology: threads per device") {
  const EnvironmentVariable unset("OMP_NUM_THREADS", "");
  const int cores = available_cores();
  CHECK(cores >= 1);
  CHECK(threads_per_device(1) == cores);
  CHECK(threads_per_device(cores) == 1);
  CHECK(threads_per_device(100 * cores) == 1);
  const EnvironmentVariable wanted("OMP_NUM_THREADS", "3");
  CHECK(threads_per_device(1) == 3);
  CHECK(threads_per_device(100 * cores) == 3);
  for (const char* many : {"20000", "99999999999999999999"}) {
    const EnvironmentVariable too_many("OMP_NUM_THREADS", many);
    CHECK_THROWS_AS(threads_per_device(1), Error);
  }
}

TEST_CASE("topology: devices of one process are bound to disjoint shares, for the run only") {
  const auto before = allowed_processors();
  const int cores = static_cast<int>(cores_of(before).size());
  for (const int devices : {1, 2, cores, 4 * cores}) {
    std::vector<std::vector<int>> processors(static_cast<std::size_t>(devices));
    run_devices(devices, [&](World& world) {
      processors[static_cast<std::size_t>(world.hosts->rank())] = allowed_processors();
    });
    std::vector<int> together;
    for (const auto& each : processors) together.insert(together.end(), each.begin(), each.end());
    std::sort(together.begin(), together.end());
    const bool bound = devices > 1 && devices <= available_cores();
    if (bound) CHECK(together == before);
    if (!bound) CHECK(together.size() == before.size() * processors.size());
    CHECK(allowed_processors() == before);
  }
  const EnvironmentVariable user("OMP_PROC_BIND", "false");
  run_devices(2, [&](World&) { CHECK(allowed_processors() == before); });
}

TEST_CASE("topology: what mpirun bound of itself, and what the user bound") {
  CHECK_FALSE(bound_by_default());
  const EnvironmentVariable bound("OMPI_MCA_orte_bound_at_launch", "1");
  CHECK(bound_by_default());
  {
    const EnvironmentVariable mapping("OMPI_MCA_rmaps_base_mapping_policy", "socket");
    CHECK(bound_by_default());
  }
  {
    const EnvironmentVariable mapping("OMPI_MCA_rmaps_base_mapping_policy", "slot:PE=2");
    CHECK_FALSE(bound_by_default());
  }
  const EnvironmentVariable policy("OMPI_MCA_hwloc_base_binding_policy", "core");
  CHECK_FALSE(bound_by_default());
}

TEST_CASE("topology: which settings of Open MPI 5 decide a binding") {
  for (const std::vector<std::string>& by_user : std::vector<std::vector<std::string>>{
           {"mpirun", "-n", "2", "--bind-to", "none"},
           {"mpirun", "--bind-to=core"},
           {"mpirun", "--cpu-set", "1"},
           {"mpirun", "-rf", "file"},
           {"mpirun", "--map-by", "slot:PE=2"},
           {"mpirun", "--map-by=numa:pe=2"},
           {"mpirun", "--map-by", "rankfile:file=ranks"},
           {"prted", "--prtemca", "hwloc_default_binding_policy", "core"},
           {"prterun", "rmaps_default_mapping_policy=slot:PE=2"}}) {
    CAPTURE(by_user.back());
    CHECK(decide_binding(by_user));
  }
  CHECK_FALSE(decide_binding({}));
  CHECK_FALSE(decide_binding({"mpirun", "-n", "2", "--map-by", ":OVERSUBSCRIBE", "program"}));
  CHECK_FALSE(decide_binding({"mpirun", "program", "fit.epochs=3", "--map-by"}));
}

TEST_CASE("topology: a description of the machine") {
  const FakeMachine machine;
  machine.write("/proc/cpuinfo",
                "processor\t: 0\nmodel\t\t: 2\nmodel name\t: Fast CPU\n"
                "flags\t\t: fpu avx avx2 fma avx512f avx512_bf16 sse\n");
  machine.write("/proc/meminfo", "MemTotal:        2048 kB\n");
  const DeviceDescription description = describe_devices(machine.root());
  CHECK(description.processor == "Fast CPU");
  CHECK(description.features == std::vector<std::string>{"avx2", "fma", "avx512f", "avx512_bf16"});
  CHECK(description.memory == 2048 * 1024);
  CHECK(description.available_memory == 2048 * 1024);
  CHECK(description.cores == available_cores());
  CHECK(description.launch.size == 1);
  const DeviceDescription real = describe_devices();
  CHECK(real.memory > 0);
  CHECK(real.available_memory <= real.memory);
  CHECK_FALSE(real.host.empty());
}

TEST_CASE("launch: ranks from the environment") {
  CHECK_FALSE(launch_from_environment().by_mpirun);
  const EnvironmentVariable rank("OMPI_COMM_WORLD_RANK", "5");
  const EnvironmentVariable size("OMPI_COMM_WORLD_SIZE", "8");
  {
    const EnvironmentVariable local_rank("OMPI_COMM_WORLD_LOCAL_RANK", "1");
    const EnvironmentVariable local_size("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
    const JobLaunch launch = launch_from_environment();
    CHECK(launch.by_mpirun);
    CHECK(launch.rank == 5);
    CHECK(launch.size == 8);
    CHECK(launch.local_rank == 1);
    CHECK(launch.local_size == 4);
  }
  const EnvironmentVariable wrong("OMPI_COMM_WORLD_SIZE", "many");
  CHECK_THROWS_WITH_AS(launch_from_environment(),
                       "environment: OMPI_COMM_WORLD_SIZE is 'many', not a number", Error);
}

TEST_CASE("launch: half of what mpirun sets is no launch") {
  const EnvironmentVariable size("OMPI_COMM_WORLD_SIZE", "2");
  CHECK_THROWS_WITH_AS(
      launch_from_environment(),
      "environment: OMPI_COMM_WORLD_SIZE is set, as if this process had a rank, but neither "
      "OMPI_COMM_WORLD_RANK nor PMIX_RANK gives it; start it with mpirun, or unset the variable",
      Error);
}

TEST_CASE("launch: one of several processes of another launcher does not train alone") {
  const auto refusal = [] {
    try {
      launch_from_environment();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  {
    const EnvironmentVariable rank("PMI_RANK", "1");
    const EnvironmentVariable size("PMI_SIZE", "4");
    CHECK(refusal().starts_with("environment: PMI_SIZE says that this process is one of 4, but "));
    const EnvironmentVariable one("PMI_SIZE", "1");
    CHECK(refusal().empty());
  }
  const EnvironmentVariable rank("SLURM_PROCID", "1");
  const EnvironmentVariable tasks("SLURM_NTASKS", "4");
  CHECK(refusal().starts_with("environment: SLURM_NTASKS says that this process is one of 4"));
  {
    const EnvironmentVariable step("SLURM_STEP_NUM_TASKS", "2");
    CHECK(
        refusal().starts_with("environment: SLURM_STEP_NUM_TASKS says that this process is one "));
  }
  const EnvironmentVariable first("SLURM_PROCID", "0");
  CHECK(refusal().empty());  // the script of sbatch, or the shell of salloc
  const EnvironmentVariable step("SLURM_STEP_NUM_TASKS", "1");
  CHECK(refusal().empty());
}

TEST_CASE("launch: ranks of Slurm with PMIx, and what cannot be") {
  const EnvironmentVariable rank("PMIX_RANK", "3");
  CHECK_THROWS_AS(launch_from_environment(), Error);
  {
    const EnvironmentVariable size("SLURM_STEP_NUM_TASKS", "4");
    const EnvironmentVariable local("SLURM_LOCALID", "1");
    const JobLaunch launch = launch_from_environment();
    CHECK(launch.rank == 3);
    CHECK(launch.size == 4);
    CHECK(launch.local_rank == 1);
    CHECK(launch.local_size == 4);
    const EnvironmentVariable per_node("SLURM_STEP_TASKS_PER_NODE", "2(x2),1,3");
    const auto local_size_on = [](const char* node) {
      const EnvironmentVariable id("SLURM_NODEID", node);
      return launch_from_environment().local_size;
    };
    CHECK(local_size_on("0") == 2);
    CHECK(local_size_on("1") == 2);
    CHECK(local_size_on("2") == 1);
    CHECK(local_size_on("3") == 3);
  }
  const EnvironmentVariable too_small("SLURM_STEP_NUM_TASKS", "3");
  CHECK_THROWS_AS(launch_from_environment(), Error);
}

}  // namespace meshwork
