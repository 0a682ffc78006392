#pragma once

namespace meshwork::cli {

/// The rank of this process among those that mpirun or srun started, from the environment, so that
/// it is known before (and without) MPI; 0 without a launcher.
int launched_rank() noexcept;

/// How many ranks there are, each of them a device; 0 without a launcher.
int launched_devices();

}  // namespace meshwork::cli
