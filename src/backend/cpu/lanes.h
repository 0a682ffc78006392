#pragma once

#include <algorithm>
#include <cstdint>

namespace meshwork::cpu {

/// How many interleaved results a fold over contiguous elements keeps: fixed, so that the width of
/// the vectors of a machine does not change a bit.
constexpr std::int64_t kLanes = 64;

/// Folds `count` >= 1 contiguous elements with Op (associative up to rounding), always in the same
/// order: lane i takes the elements i, i + 64, ..; then halves of the lanes are combined.
template <class Op, class T>
[[gnu::always_inline]] inline T fold_lanes(const T* x, std::int64_t count) {
  T folded = x[0];
  std::int64_t i = 1;
  if (count >= kLanes) {
    T lanes[kLanes];
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = x[lane];
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
#pragma omp simd
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = Op::apply(lanes[lane], x[i + lane]);
      }
    }
    for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
#pragma omp simd
      for (std::int64_t lane = 0; lane < width; ++lane) {
        lanes[lane] = Op::apply(lanes[lane], lanes[lane + width]);
      }
    }
    folded = lanes[0];
  }
  for (; i < count; ++i) folded = Op::apply(folded, x[i]);
  return folded;
}

}  // namespace meshwork::cpu
