#pragma once

#include <string>

namespace meshwork {

/// How this process was started, known from the environment before MPI is initialised, so that a
/// mistake in the configuration costs nothing.
struct JobLaunch {
  bool by_mpirun = false;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< among the ranks of this node
  int local_size = 1;  ///< ranks on this node
};

/// From the variables of Open MPI (OMPI_COMM_WORLD_*), or of Slurm with PMIx (PMIX_RANK, SLURM_*);
/// without them one process alone. Throws Error where they contradict themselves, and where another
/// launcher has started several processes (PMI_*, SLURM_* without PMIx).
JobLaunch launch_from_environment();

}  // namespace meshwork
