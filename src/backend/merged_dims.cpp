#include "backend/merged_dims.h"

#include <algorithm>

namespace meshwork {

std::vector<MergedDim> merged_dims(const Shape& shape, const std::vector<std::int64_t>& axes) {
  const Shape strides = row_major_strides(shape);
  std::vector<MergedDim> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const bool reduced = std::ranges::find(axes, static_cast<std::int64_t>(d)) != axes.end();
    if (!dims.empty() && dims.back().reduced == reduced) {
      dims.back().extent *= shape[d];
      dims.back().stride = strides[d];
    } else {
      dims.push_back({shape[d], strides[d], reduced});
    }
  }
  return dims;
}

}  // namespace meshwork
