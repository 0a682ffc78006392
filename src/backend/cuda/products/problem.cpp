#include "backend/cuda/products/problem.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace meshwork::cuda::products {
namespace {

/// Of a product of fewer multiplications the parts of a split sum are small, too.
constexpr std::int64_t kLargeProduct = std::int64_t{1} << 27;
constexpr std::int64_t kSmallWorkspace = std::int64_t{4} << 20;
constexpr std::int64_t kLargeWorkspace = std::int64_t{32}
                                         << 20;  ///< what kernels of Hopper ask for

/// Bytes that divide an address, and those so far apart, 256 at most.
std::int64_t alignment_of(const std::byte* data, std::uintptr_t stride) {
  constexpr std::uintptr_t kMost = 256;
  const std::uintptr_t places = reinterpret_cast<std::uintptr_t>(data) | stride | kMost;
  return static_cast<std::int64_t>(places & (~places + 1));
}

Operand operand(const MatrixStack& matrices, std::int64_t stack, DType dtype, std::int64_t rows,
                std::int64_t columns) {
  MW_CHECK(matrices.rows == 1 || matrices.columns == 1, "strides {} and {}", matrices.rows,
           matrices.columns);
  Operand operand;
  operand.is_transposed = matrices.rows != 1;
  // A single column has any stride.
  operand.leading =
      operand.is_transposed ? std::max(matrices.rows, columns) : std::max(matrices.columns, rows);
  std::uintptr_t stride = 0;
  if (stack > 1) {
    operand.stack = matrices.stack;
    stride = static_cast<std::uintptr_t>(matrices.stack) * size_of(dtype);
  }
  operand.alignment = alignment_of(matrices.data, stride);
  return operand;
}

}  // namespace

std::int64_t product_workspace(std::int64_t stack, std::int64_t m, std::int64_t n, std::int64_t k) {
  return stack * m * n * k < kLargeProduct ? kSmallWorkspace : kLargeWorkspace;
}

std::string text_of(const Problem& p) {
  // Row by row it is the product of the transposes, in the other order.
  const bool first = p.b.is_transposed, second = p.a.is_transposed;
  const char* const transposed = first && second ? ", both transposed"
                                 : first         ? ", the first transposed"
                                 : second        ? ", the second transposed"
                                                 : "";
  const char* const ending = p.relu ? ", with a bias and relu" : p.bias ? ", with a bias" : "";
  return fmt::format("{} of {} [{}, {}] and [{}, {}] to {}{}{}",
                     p.stack == 1 ? "a product" : fmt::format("{} products", p.stack),
                     to_string(p.operands), p.columns, p.depth, p.depth, p.rows,
                     to_string(p.result), transposed, ending);
}

Product by_columns(Product product) {
  if (product.y.columns != 1) {
    MW_CHECK(product.epilogue.bias == nullptr, "a bias for rows of y that lie apart");
    return product;
  }
  std::swap(product.m, product.n);
  std::swap(product.x, product.w);
  for (MatrixStack* matrices : {&product.x, &product.w, &product.y}) {
    std::swap(matrices->rows, matrices->columns);
  }
  return product;
}

Problem problem_of(const Product& p) {
  MW_CHECK(p.y.rows == 1, "a result with rows {} apart", p.y.rows);
  const std::int64_t bias_stack = p.stack > 1 ? p.epilogue.stack : 0;
  const auto bias_stride = static_cast<std::uintptr_t>(bias_stack) * size_of(p.result);
  return {.operands = p.operands,
          .result = p.result,
          .rows = p.m,
          .columns = p.n,
          .depth = p.k,
          .stack = p.stack,
          .a = operand(p.x, p.stack, p.operands, p.m, p.k),
          .b = operand(p.w, p.stack, p.operands, p.k, p.n),
          .y = operand(p.y, p.stack, p.result, p.m, p.n),
          .workspace = product_workspace(p.stack, p.m, p.n, p.k),
          .tensor_float32 = p.tensor_float32 && p.operands == DType::kFloat32,
          .bias = p.epilogue.bias != nullptr,
          .relu = p.epilogue.relu,
          .bias_alignment = alignment_of(p.epilogue.bias, bias_stride),
          .bias_stack = bias_stack};
}

}  // namespace meshwork::cuda::products
