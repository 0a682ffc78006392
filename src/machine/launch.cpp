#include "machine/launch.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace meshwork {
namespace {

std::optional<int> integer(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view view = text;
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc{} || end != view.data() + view.size() || value < 0) {
    fail(ExitCode::kCommunication, "environment: {} is '{}', not a number", name, view);
  }
  return value;
}

/// The first variable of a pair that is set.
int required(const char* first, const char* second, const char* what) {
  if (const auto value = integer(first)) return *value;
  if (const auto value = integer(second)) return *value;
  fail(ExitCode::kCommunication,
       "environment: {} is set, as if this process had a rank, but neither {} nor {} gives {}; "
       "start it with mpirun, or unset the variable",
       std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr ? "OMPI_COMM_WORLD_SIZE" : "PMIX_RANK", first,
       second, what);
}

/// Ranks on this node from Slurm's "4(x2),3", one number for each node or run of nodes.
std::optional<int> slurm_local_size() {
  const char* text = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  int node = integer("SLURM_NODEID").value_or(0);
  std::istringstream runs(text == nullptr ? "" : text);
  for (std::string run; std::getline(runs, run, ',');) {
    int ranks = 0;
    int nodes = 1;
    if (std::sscanf(run.c_str(), "%d(x%d)", &ranks, &nodes) < 1) return std::nullopt;
    if (node < nodes) return ranks;
    node -= nodes;
  }
  return std::nullopt;
}

/// One of several processes that a launcher has started with which Open MPI does not speak would
/// train alone, and all of them would write to the same files.
void check_no_other_launcher() {
  const auto refuse = [](const char* variable, int processes) {
    fail(ExitCode::kCommunication,
         "environment: {} says that this process is one of {}, but it was not Open MPI's mpirun "
         "that started them; start it with mpirun (under Slurm also srun --mpi=pmix), or unset the "
         "variable to train in this process alone",
         variable, processes);
  };
  const int pmi = integer("PMI_SIZE").value_or(0);
  if (pmi > 1 && integer("PMI_RANK")) refuse("PMI_SIZE", pmi);
  const auto slurm_rank = integer("SLURM_PROCID");
  if (!slurm_rank) return;
  // The script of sbatch is a process of its own with rank 0, however many tasks the job may start.
  const auto in_step = integer("SLURM_STEP_NUM_TASKS");
  const int in_job = *slurm_rank > 0 ? integer("SLURM_NTASKS").value_or(0) : 0;
  const int tasks = in_step.value_or(in_job);
  if (tasks > 1) refuse(in_step ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS", tasks);
}

}  // namespace

JobLaunch launch_from_environment() {
  JobLaunch launch;
  const auto open_mpi_size = integer("OMPI_COMM_WORLD_SIZE");
  const auto pmix_rank = integer("PMIX_RANK");
  if (!open_mpi_size && !pmix_rank) {
    check_no_other_launcher();
    return launch;
  }
  launch.by_mpirun = true;
  launch.rank = required("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "it");
  launch.size = required("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "the number of ranks");
  launch.local_rank = integer("OMPI_COMM_WORLD_LOCAL_RANK")
                          .value_or(integer("SLURM_LOCALID").value_or(launch.rank));
  launch.local_size =
      integer("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(slurm_local_size().value_or(launch.size));
  if (launch.rank >= launch.size || launch.local_rank >= launch.size ||
      launch.local_size > launch.size || launch.local_size < 1) {
    fail(ExitCode::kCommunication,
         "environment: rank {} of {} (on this node {} of {}) cannot be; start it with mpirun, or "
         "without any launcher",
         launch.rank, launch.size, launch.local_rank, launch.local_size);
  }
  return launch;
}

}  // namespace meshwork
