#pragma once

#include "comm/communicator.h"

namespace meshwork::test {

/// All ranks of the job, in a test program linked with mpi_main.cpp.
World& mpi_world();

}  // namespace meshwork::test
