#include "comm/launch.h"

#include <charconv>
#include <cstdlib>
#include <optional>
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
       "environment: this process has a rank, but neither {} nor {} gives {}; start it with "
       "mpirun, or without any launcher",
       first, second, what);
}

}  // namespace

Launch launch_from_environment() {
  Launch launch;
  const auto open_mpi_size = integer("OMPI_COMM_WORLD_SIZE");
  const auto pmix_rank = integer("PMIX_RANK");
  if (!open_mpi_size && !pmix_rank) return launch;
  launch.by_mpirun = true;
  launch.rank = required("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "it");
  launch.size = required("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "the number of ranks");
  launch.local_rank = integer("OMPI_COMM_WORLD_LOCAL_RANK")
                          .value_or(integer("SLURM_LOCALID").value_or(launch.rank));
  launch.local_size = integer("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(launch.size);
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
