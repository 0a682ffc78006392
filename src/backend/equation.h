#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"

namespace meshwork {

/// A named factor of an einsum equation: its extent, and its stride in elements in each dense
/// row-major tensor; 0 where the tensor has no such dimension.
struct Factor {
  std::string name;
  std::int64_t extent = 1;
  std::int64_t x_stride = 0;
  std::int64_t w_stride = 0;
  std::int64_t y_stride = 0;
};

/// The factors of y in order, then the summed ones in the order of x and w. An extent of zero
/// leaves strides of at least one, so that a stride of 0 always means "not there".
struct Equation {
  std::vector<Factor> factors;
};

/// "m k, k n -> m n" with [4, 3] and [3, 2] gives m: 4 (3, 0, 2), n: 2 (0, 1, 1), k: 3 (1, 2, 0).
/// An equation that does not fit the shapes, or names a factor twice in one tensor, is a broken
/// invariant.
Equation parse_equation(std::string_view text, const Shape& x, const Shape& w);

}  // namespace meshwork
