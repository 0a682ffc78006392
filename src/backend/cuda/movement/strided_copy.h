#pragma once

#include <vector>

#include "backend/movement.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// Enqueues copies of elements of so many bytes, in as few launches as their kinds allow. They
/// write different places, and read nothing that is written.
Launch copy_all(CudaStream& stream, const std::vector<movement::Copy>& copies,
                std::int64_t element_bytes);

/// A copy of words, of what kernels need: no dimensions of one, merged, in the order in which they
/// are written. Strides in words.
struct WordCopy {
  movement::Copy copy;
  std::int64_t bytes = 1;  ///< of a word: 1, 2, 4, 8 or 16
  std::int64_t words = 0;
};

/// Whether what stands side by side in the one tensor stands apart in the other, many times over:
/// the transposition of matrices.
bool is_transposition(const WordCopy& copy);

/// Enqueues such a copy; it goes through shared memory, tile by tile.
Launch copy_transposed(CudaStream& stream, const WordCopy& copy);

}  // namespace meshwork::cuda
