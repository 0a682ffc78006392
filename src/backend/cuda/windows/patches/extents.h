#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cuda/windows/tiles.h"
#include "base/rounded_up.h"

namespace meshwork::cuda::windows {

/// Floats of shared memory that a block may have without asking, 48 KB, less what lies beside.
inline constexpr std::int64_t kPatchFloats = 12000;
/// Threads of a block that are enough to share what it brings.
inline constexpr std::int64_t kPatchThreads = 256;
/// Of an H100.
inline constexpr std::int64_t kMultiprocessors = 132;

/// The extent of equal pieces, as few as there can be, of which each is at most `limit`.
inline std::int64_t even_piece(std::int64_t extent, std::int64_t limit) {
  const std::int64_t longest = std::clamp<std::int64_t>(limit, 1, extent);
  return tiles_over(extent, tiles_over(extent, longest));
}

/// Elements along a dimension that `results` results side by side read.
inline std::int64_t reach(std::int64_t results, std::int64_t step, std::int64_t taps) {
  return (results - 1) * step + taps;
}

/// 4 to 8 pixels side by side for a thread: 7, unless others leave fewer places empty.
std::int64_t pixels_of(std::int64_t width);

/// Blocks of a multiprocessor that have registers enough for so many sums of each thread.
std::int64_t resident_blocks(std::int64_t threads, std::int64_t sums);

}  // namespace meshwork::cuda::windows
