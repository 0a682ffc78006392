#pragma once

#include <cstdint>

#include "base/shape.h"

namespace meshwork::reference {

/// Goes to the next index of `shape` in row-major order; false behind the last one.
inline bool next_index(const Shape& shape, Shape& index) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

/// body(index) for each index of `shape`, in row-major order; never where an extent is 0.
template <class Body>
void for_each_index(const Shape& shape, const Body& body) {
  if (num_elements(shape) == 0) return;
  Shape index(shape.size(), 0);
  do {
    body(index);
  } while (next_index(shape, index));
}

/// Where the element `index` lies, given strides in elements.
inline std::int64_t offset_of(const Shape& index, const Shape& strides) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

}  // namespace meshwork::reference
