#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "backend/cuda/windows/convolution.h"

namespace meshwork::cuda::windows {

/// How a block computes a patch of a result: a thread has `pixels` side by side of a row, and
/// `columns` channels of each.
struct Patch {
  std::int64_t pixels = 0;
  std::int64_t segments = 0;  ///< of so many pixels, in a row of the patch
  std::int64_t rows = 0;
  std::int64_t images = 1;
  std::int64_t columns = 0;
  std::int64_t column_groups = 0;
  std::int64_t splits = 1;                      ///< threads that share the channels that are summed
  std::int64_t depth = 0;                       ///< channels in shared memory at a time
  std::array<std::int64_t, 2> taps{}, steps{};  ///< of rows, of pixels
  bool even_taps = true;                        ///< every phase has all taps

  std::int64_t width() const { return pixels * segments; }
  std::int64_t channels() const { return columns * column_groups; }
  std::int64_t threads() const { return segments * rows * images * column_groups * splits; }
  std::int64_t pack() const;           ///< pixels that are read at once
  std::int64_t pitch() const;          ///< floats from row to row
  std::int64_t channel_pitch() const;  ///< and from channel to channel
  std::int64_t memory() const;         ///< floats
  std::int64_t blocks(const Sliding& s) const;
  /// What kernels are compiled with.
  std::string defines(const Sliding& s) const;
};

/// `pack`: channels of the source that are read at once.
Patch patch_of(const Sliding& s, std::int64_t pack);

/// How a block computes a part of a kernel's gradient: a thread has `in` x `out` sums for each tap
/// of one row of the window, and goes through `pixels` positions side by side at a time.
struct FilterPatch {
  std::int64_t pixels = 0;
  std::int64_t segments = 0;
  std::int64_t rows = 0;
  std::int64_t images = 1;
  std::int64_t in = 0, out = 0;
  std::int64_t in_groups = 0, out_groups = 0;
  std::int64_t splits = 1;  ///< threads that share the rows
  std::array<std::int64_t, 2> taps{}, steps{};

  std::int64_t width() const { return pixels * segments; }
  std::int64_t channels() const { return in * in_groups; }
  std::int64_t filters() const { return out * out_groups; }
  std::int64_t sums() const { return taps[1] * in * out; }
  std::int64_t threads() const { return taps[0] * in_groups * out_groups * splits; }
  std::int64_t memory() const;
  std::string defines(const Convolution& c) const;
  /// Patches that cover the positions; blocks that one part of them takes.
  std::int64_t patches(const Convolution& c) const;
  std::int64_t blocks(const Convolution& c) const;
  /// Parts that fill a GPU once.
  std::int64_t parts(const Convolution& c) const;
};

FilterPatch filter_patch_of(const Convolution& c);

}  // namespace meshwork::cuda::windows
