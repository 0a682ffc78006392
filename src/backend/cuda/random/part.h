#pragma once

#include <cstdint>
#include <string_view>

#include "base/shape.h"

namespace meshwork::cuda {

/// The part of a tensor that a region shows, as runs of elements that are neighbours in the whole
/// tensor. Extents are of runs, strides are those of the whole tensor; the innermost come first.
/// The kernels have the same struct.
struct PartRuns {
  static constexpr int kMost = 8;
  std::int64_t extent[kMost];
  std::int64_t stride[kMost];
  std::int64_t begin;   ///< of the first run in the whole tensor, row-major
  std::int64_t length;  ///< of each run
  std::int64_t runs;
  std::int32_t dims;
};

PartRuns part_runs(const Shape& local, const Region& region);

inline constexpr std::string_view kPartText = R"cuda(
struct Part {
  int64 extent[8], stride[8];
  int64 begin, length, runs;
  int32 dims;
};

// Where a run begins in the whole tensor.
DEVICE int64 begin_of(const Part& part, int64 run) {
  int64 place = part.begin;
#pragma unroll
  for (int32 d = 0; d < 8; ++d) {
    if (d >= part.dims) break;
    const int64 next = run / part.extent[d];
    place += (run - next * part.extent[d]) * part.stride[d];
    run = next;
  }
  return place;
}
)cuda";

}  // namespace meshwork::cuda
