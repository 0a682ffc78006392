#pragma once

#include <cstdint>
#include <optional>

#include "base/shape.h"

namespace meshwork {

/// The product of the extents and `factor`, which is not negative: elements, or bytes of a tensor
/// whose elements take so many. None where an extent is negative, or where the product of those
/// that are not 0 is more than 2^62: all that is computed of a shape that passes, fits 63 bits.
std::optional<std::int64_t> fitting_product(const Shape& extents, std::int64_t factor = 1);

}  // namespace meshwork
