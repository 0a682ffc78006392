#pragma once

#include <cstdint>

#include "backend/convert.h"

namespace meshwork::cpu {

/// Folds `count` >= Lanes contiguous elements, a multiple of Lanes, with Op: lane i takes the
/// elements i, i + Lanes, ..; then halves of the lanes are combined.
template <class Op, int Lanes, class T>
[[gnu::always_inline]] inline Computed<T> fold_whole_lanes(const T* x, std::int64_t count) {
  Computed<T> lanes[Lanes];
  for (int lane = 0; lane < Lanes; ++lane) lanes[lane] = computed(x[lane]);
  for (std::int64_t i = Lanes; i < count; i += Lanes) {
#pragma omp simd
    for (int lane = 0; lane < Lanes; ++lane) {
      lanes[lane] = Op::apply(lanes[lane], computed(x[i + lane]));
    }
  }
  for (int width = Lanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] = Op::apply(lanes[lane], lanes[lane + width]);
    }
  }
  return lanes[0];
}

/// Folds `count` >= 1 contiguous elements with Op (associative up to rounding), always in the same
/// order: as many as can be in 64 lanes, then in 8, then the last ones. The lanes are fixed, so
/// that the width of the vectors of a machine does not change a bit.
template <class Op, class T>
[[gnu::always_inline]] inline Computed<T> fold_lanes(const T* x, std::int64_t count) {
  const std::int64_t many = count / 64 * 64;
  const std::int64_t some = (count - many) / 8 * 8;
  std::int64_t i = many + some;
  Computed<T> folded = computed(x[0]);
  if (many > 0) {
    folded = fold_whole_lanes<Op, 64>(x, many);
    if (some > 0) folded = Op::apply(folded, fold_whole_lanes<Op, 8>(x + many, some));
  } else if (some > 0) {
    folded = fold_whole_lanes<Op, 8>(x, some);
  } else {
    i = 1;
  }
  for (; i < count; ++i) folded = Op::apply(folded, computed(x[i]));
  return folded;
}

}  // namespace meshwork::cpu
