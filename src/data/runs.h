#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace meshwork::data {

/// A box in a row-major tensor as runs of neighbouring elements, in row-major order:
/// rows 1 and 2, columns 3..5 of [4, 8] are runs of 3 at 11 and 19; rows 1 and 2 alone one run of
/// 16 at 8.
struct Runs {
  std::int64_t length = 1;
  std::vector<std::int64_t> starts;  ///< empty for an empty box
};

/// The box of extents `local` at `offset` in a tensor of shape `global`.
Runs runs_of(const Shape& global, const Shape& offset, const Shape& local);

}  // namespace meshwork::data
