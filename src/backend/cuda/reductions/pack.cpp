#include "backend/cuda/reductions/pack.h"

#include <algorithm>

namespace meshwork::cuda {
namespace {

constexpr std::int64_t kPackBytes = 16;

}  // namespace

int pack_width(std::int64_t extent, DType dtype) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  std::int64_t width = kPackBytes / size;
  while (extent % width != 0) width /= 2;
  return static_cast<int>(width);
}

int pack_width(std::int64_t extent, std::initializer_list<const TensorView*> tensors) {
  const int width = pack_width(extent, (*tensors.begin())->type.dtype);
  const bool aligned = std::all_of(tensors.begin(), tensors.end(), [&](const TensorView* tensor) {
    const std::size_t bytes = static_cast<std::size_t>(width) * size_of(tensor->type.dtype);
    return reinterpret_cast<std::uintptr_t>(tensor->data) % bytes == 0;
  });
  return aligned ? width : 1;
}

}  // namespace meshwork::cuda
