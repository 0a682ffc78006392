#pragma once

#include <mpi.h>

#include <memory>

#include "comm/mpi_communicator.h"

namespace meshwork {

/// A prepared call by messages alone. `tag` and the one after it are its own in `comm`; `stream` is
/// immediate.
std::unique_ptr<PreparedCall> message_call(MPI_Comm comm, const MpiLimits& limits, int tag,
                                           const CollectiveCall& call, Stream& stream);

/// The type of elements in messages.
MPI_Datatype mpi_type(DType dtype);

}  // namespace meshwork
