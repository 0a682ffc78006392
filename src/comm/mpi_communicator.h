#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/communicator.h"

namespace meshwork {

/// Where one way of doing a collective ends and the next begins; alike in all ranks.
struct MpiLimits {
  std::int64_t max_count = INT_MAX;  ///< elements, the most that one MPI call can name
  bool share_memory = true;          ///< among ranks of one machine, where possible
  int ranks_of_machine = 0;          ///< as if machines had so many each; 0: as it is
  std::size_t chunk_bytes = std::size_t{4} << 20U;  ///< scratch, and what is reduced at a time
};

/// A communicator over `comm`, which it takes over and frees. Its calls throw Error of
/// ExitCode::kCommunication where MPI reports a failure.
std::unique_ptr<Communicator> mpi_communicator(MPI_Comm comm, const MpiLimits& limits = {});

}  // namespace meshwork
