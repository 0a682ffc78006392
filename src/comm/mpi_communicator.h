#pragma once

#include <mpi.h>

#include <memory>

#include "comm/communicator.h"
#include "comm/mpi_limits.h"

namespace meshwork {

/// A communicator over `comm`, which it takes over and frees. Its calls throw Error of
/// ExitCode::kCommunication where MPI reports a failure.
std::unique_ptr<Communicator> mpi_communicator(MPI_Comm comm, const MpiLimits& limits = {});

}  // namespace meshwork
