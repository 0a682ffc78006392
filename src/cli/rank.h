#pragma once

namespace meshwork::cli {

/// The rank and number of processes that mpirun or srun started, from the environment, so that it
/// is known before (and without) MPI; 0 of 1 without a launcher.
int launched_rank();
int launched_size();

}  // namespace meshwork::cli
