#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cuda/products/epilogue.h"
#include "base/dtype.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda::products {

/// Matrices in device memory, a stack of them: strides in elements. Of rows and columns one is 1.
struct MatrixStack {
  std::byte* data = nullptr;
  std::int64_t rows = 1, columns = 1;
  std::int64_t stack = 0;  ///< from one matrix to the next
};

/// y = x w, [m, k] by [k, n] with at least one element each, so many times as the stack is high.
/// Sums are float32, of floats of 16 bits too; they are rounded once. Operands of float32 are not
/// rounded unless it is allowed.
struct Product {
  std::int64_t stack = 1, m = 1, n = 1, k = 1;
  DType operands;  ///< float32, bfloat16 or float16
  DType result;    ///< float32, or that of the operands
  MatrixStack x, w, y;
  bool tensor_float32 = false;  ///< operands of float32 may be rounded to 10 bits of fraction
  Epilogue epilogue = {};       ///< of rows of y whose elements are neighbours
};

/// Bytes of scratch for a product; by its extents alone.
std::int64_t product_workspace(std::int64_t stack, std::int64_t m, std::int64_t n, std::int64_t k);

/// The products of which cuBLASLt computes one at a time: it, or parts of a very high stack.
std::vector<Product> launched_products(const Product& product);

/// The product by cuBLASLt, whose algorithm is chosen now: of those that give the same bits each
/// time. Throws an Error that names the product where there is none.
Launch product_launch(CudaStream& stream, const Product& product, std::byte* workspace);

/// Whether cuBLASLt has an algorithm for a product, with its epilogue.
bool has_algorithm(CudaStream& stream, const Product& product);

}  // namespace meshwork::cuda::products
