#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/types.h"
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

/// y[index] = x at `strides`, in elements.
inline Launch gather(const TensorView& x, const Shape& strides, const TensorView& y) {
  return [x, y, strides] {
    with_type(y.type.dtype, [&](auto value) {
      using T = decltype(value);
      std::int64_t i = 0;
      for_each_index(y.type.shape, [&](const Shape& index) {
        y.as<T>()[i++] = x.as<T>()[offset_of(index, strides)];
      });
    });
  };
}

}  // namespace meshwork::reference
