#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace meshwork {

/// A dimension that a reduction goes over; the stride in elements.
struct MergedDim {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
  bool reduced = false;
};

/// The dimensions of a dense tensor that is reduced over `axes`, without those of one, neighbours
/// of a kind merged. [4, 1, 5, 6] over {2, 3}: 4 kept, 30 reduced.
std::vector<MergedDim> merged_dims(const Shape& shape, const std::vector<std::int64_t>& axes);

}  // namespace meshwork
