#include "backend/cuda/walk.h"

#include "base/check.h"

namespace meshwork::cuda {

void Walk::add(std::int64_t extent, std::int64_t x_stride, std::int64_t w_stride,
               std::int64_t y_stride) {
  if (extent == 1) return;
  const auto last = static_cast<std::size_t>(rank) - 1;
  if (rank > 0 && x[last] == x_stride * extent && w[last] == w_stride * extent &&
      y[last] == y_stride * extent) {
    extent *= extent_of(last);
    --rank;
  }
  MW_CHECK(rank < kMostDims, "a walk through more than {} dimensions", kMostDims);
  const auto d = static_cast<std::size_t>(rank++);
  extents[d] = divisor_of(extent);
  x[d] = x_stride;
  w[d] = w_stride;
  y[d] = y_stride;
}

std::int64_t Walk::size() const {
  std::int64_t size = 1;
  for (std::int32_t d = 0; d < rank; ++d) size *= extent_of(static_cast<std::size_t>(d));
  return size;
}

}  // namespace meshwork::cuda
