#pragma once

#include <array>
#include <cstdint>

#include "backend/cuda/index.h"

namespace meshwork::cuda {

/// Dimensions in which a kernel walks through what it reads, x and w, and what it writes, y: a
/// parameter of kernels. Strides in elements.
struct Walk {
  static constexpr std::int32_t kMostDims = 16;

  std::int32_t rank = 0;
  std::array<Divisor, kMostDims> extents{};
  std::array<std::int64_t, kMostDims> x{}, w{}, y{};

  /// Appends an inner dimension, which becomes one with the last where one stride each goes through
  /// both. More than kMostDims are a broken invariant.
  void add(std::int64_t extent, std::int64_t x_stride, std::int64_t w_stride,
           std::int64_t y_stride);

  std::int64_t extent_of(std::size_t d) const {
    return static_cast<std::int64_t>(extents[d].value);
  }
  std::int64_t size() const;
};

/// The same in kernels, by Index (define_index): where element `index` is in row-major order.
inline constexpr char kWalk[] = R"cuda(
struct Walk {
  int32 rank;
  Divisor extents[16];
  int64 x[16], w[16], y[16];
};

struct Places {
  int64 x, w, y;
};

DEVICE Places places_of(const Walk& walk, Index index) {
  Places places = {0, 0, 0};
  for (int32 d = walk.rank; d-- > 0;) {
    const Index rest = d > 0 ? divide(index, walk.extents[d]) : 0;
    const int64 at = index - rest * (Index)walk.extents[d].value;
    places.x += at * walk.x[d];
    places.w += at * walk.w[d];
    places.y += at * walk.y[d];
    index = rest;
  }
  return places;
}
)cuda";

}  // namespace meshwork::cuda
