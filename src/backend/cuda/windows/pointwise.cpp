// The product of a convolution of single pixels.
#include <algorithm>

#include "backend/cuda/windows/by_products.h"

namespace meshwork::cuda::windows {
namespace {

using products::MatrixStack;
using products::Product;

struct Matrix {
  const TensorView& tensor;
  std::int64_t rows = 0, columns = 0;
  bool is_transposed = false;

  MatrixStack stack() const {
    return {.data = tensor.data,
            .rows = is_transposed ? 1 : columns,
            .columns = is_transposed ? columns : 1};
  }
  std::int64_t num_rows() const { return is_transposed ? columns : rows; }
  std::int64_t num_columns() const { return is_transposed ? rows : columns; }
  Matrix transposed() const { return {tensor, rows, columns, !is_transposed}; }
};

Product product(const Matrix& x, const Matrix& w, const Matrix& y, const Task& task) {
  return {.stack = 1,
          .m = y.num_rows(),
          .n = y.num_columns(),
          .k = x.num_columns(),
          .operands = x.tensor.type.dtype,
          .result = y.tensor.type.dtype,
          .x = x.stack(),
          .w = w.stack(),
          .y = y.stack(),
          .tensor_float32 = task.tensor_float32};
}

bool is_pointwise(const Task& task) {
  const Convolution& c = task.c;
  const auto is_one_pixel = [](const Slide& slide) {
    return slide.window == 1 && slide.stride == 1 && slide.padding == 0 && slide.x == slide.y;
  };
  return c.groups == 1 && c.images > 0 && c.in > 0 && c.out > 0 && y_pixels(c.slides) > 0 &&
         std::ranges::all_of(c.slides, is_one_pixel);
}

Product product_of(const Task& task) {
  const std::int64_t pixels = task.c.images * y_pixels(task.c.slides);
  const Matrix x{task.x, pixels, task.c.in}, w{task.w, task.c.in, task.c.out},
      y{task.y, pixels, task.c.out};
  switch (task.sought) {
    case Sought::kY:
      return product(x, w, y, task);
    case Sought::kX:
      return product(y, w.transposed(), x, task);
    case Sought::kW:
      break;
  }
  return product(x.transposed(), y, w, task);
}

std::int64_t workspace_of(const Task& task) {
  const Product p = product_of(task);
  return products::product_workspace(p.stack, p.m, p.n, p.k);
}

Launch launch(CudaStream& stream, const Task& task, std::byte* workspace) {
  return products::product_launch(stream, product_of(task), workspace);
}

}  // namespace

const ByProducts kPointwise{is_pointwise, product_of, workspace_of, launch};

}  // namespace meshwork::cuda::windows
