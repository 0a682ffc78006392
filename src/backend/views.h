#pragma once

#include <cstdint>

#include "backend/backend.h"

namespace meshwork {

/// A dense tensor around one dimension: [outer, extent, inner].
struct AxisView {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

AxisView around_axis(const Shape& shape, std::int64_t axis);

/// Strides in elements of a dense operand of `shape` that is broadcast to `to` as in numpy: 0
/// where it repeats. [3, 1] to [2, 3, 4] gives [0, 1, 0].
Shape broadcast_strides(const Shape& shape, const Shape& to);

/// The step of a random op: the value of its operand, 0 without one. Read at launch.
std::uint64_t step_of(const KernelArgs& args);

}  // namespace meshwork
