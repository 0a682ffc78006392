#include "base/shape.h"

#include <fmt/format.h>

#include "base/join.h"

namespace meshwork {

std::int64_t num_elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", join(shape, ", ")); }

Region whole_region(const Shape& shape) { return {shape, Shape(shape.size(), 0)}; }

}  // namespace meshwork
