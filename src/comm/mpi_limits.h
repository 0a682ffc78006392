#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace meshwork {

/// Where one way of doing a collective ends and the next begins; alike in all ranks.
struct MpiLimits {
  std::int64_t max_count = INT_MAX;  ///< elements, the most that one MPI call can name
  bool share_memory = true;          ///< among ranks of one machine, where possible
  int ranks_of_machine = 0;          ///< as if machines had so many each; 0: as it is
  std::size_t chunk_bytes = std::size_t{4} << 20U;  ///< scratch, and what is reduced at a time
};

}  // namespace meshwork
