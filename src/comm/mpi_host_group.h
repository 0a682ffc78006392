#pragma once

#include <mpi.h>

#include <memory>

#include "comm/host_group.h"
#include "comm/wait_watch.h"

namespace meshwork {

/// The processes of `comm`, which it takes over and frees. Its calls throw Error of
/// ExitCode::kCommunication where MPI reports a failure; abort ends all ranks of the job. `watch`
/// is told when they wait.
std::unique_ptr<HostGroup> mpi_host_group(MPI_Comm comm,
                                          std::shared_ptr<WaitWatch> watch = nullptr);

}  // namespace meshwork
