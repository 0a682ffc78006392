#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meshwork {

/// Extents in elements, outermost first; {} is a scalar.
using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar.
std::int64_t num_elements(const Shape& shape);

/// Row-major strides in elements: [2, 3, 4] -> [12, 4, 1].
Shape row_major_strides(const Shape& shape);

/// "[2, 3]"; "[]" for a scalar.
std::string to_string(const Shape& shape);

/// The part of a global tensor that one device holds: local extents start at `offset`.
struct Region {
  Shape global;
  Shape offset;
  bool operator==(const Region&) const = default;
};

/// The region that is the whole tensor.
Region whole_region(const Shape& shape);

}  // namespace meshwork
