#pragma once

#include <mpi.h>

namespace meshwork {

/// Waits for a request: spins, and then sleeps but for a look now and then. Others may come a
/// second later, and need the core until then. Returns a code of MPI.
int mpi_wait(MPI_Request request);

}  // namespace meshwork
