#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace meshwork::ops {

/// Checks that blocks of these extents along `dim` make up a tensor of this shape.
void check_blocks(const Shape& shape, std::int64_t dim, const std::vector<std::int64_t>& extents);

}  // namespace meshwork::ops
