#pragma once

#include <string_view>

namespace meshwork::cuda::windows {

/// Sums that threads of a block share: each split has a part of the terms, and `group` threads.
inline constexpr std::string_view kSplitsText = R"cuda(
// The first split's sums += those of the others, in turn. `memory` holds the sums of a split.
template <int kRows, int kColumns>
DEVICE void add_splits(float (&sums)[kRows][kColumns], float* memory, int32 split, int32 thread,
                       int32 group) {
  for (int32 other = 1; other < SPLITS; ++other) {
    __syncthreads();
#pragma unroll
    for (int32 i = 0; i < kRows * kColumns; ++i) {
      if (split == other) memory[i * group + thread] = sums[i / kColumns][i % kColumns];
    }
    __syncthreads();
#pragma unroll
    for (int32 i = 0; i < kRows * kColumns; ++i) {
      if (split == 0) sums[i / kColumns][i % kColumns] += memory[i * group + thread];
    }
  }
}
)cuda";

}  // namespace meshwork::cuda::windows
