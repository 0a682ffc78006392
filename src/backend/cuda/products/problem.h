#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "backend/cuda/products/product.h"

namespace meshwork::cuda::products {

/// What cuBLASLt is told of an operand: the stride between its columns, in its words, the one
/// between matrices, in elements, and how its addresses are aligned, in bytes.
struct Operand {
  bool is_transposed = false;
  std::int64_t leading = 1, stack = 0, alignment = 1;
  auto operator<=>(const Operand&) const = default;
};

/// A product column by column, as cuBLASLt counts: y = a b, of [rows, depth] and [depth, columns].
/// All that decides on its algorithm.
struct Problem {
  DType operands, result;
  std::int64_t rows, columns, depth, stack;
  Operand a, b, y;
  std::int64_t workspace;
  bool tensor_float32;
  bool bias, relu;              ///< of the epilogue: y = a b + bias [rows], or relu of that
  std::int64_t bias_alignment;  ///< bytes
  std::int64_t bias_stack;      ///< elements, between those of the matrices
  auto operator<=>(const Problem&) const = default;
};

/// "12 products of bfloat16 [3, 4] and [4, 5] to float32, the first transposed": row by row.
std::string text_of(const Problem& problem);

/// The product whose result has columns that lie one after the other: that of the transposes, in
/// the other order, where its rows do.
Product by_columns(Product product);

/// Of such a product.
Problem problem_of(const Product& product);

}  // namespace meshwork::cuda::products
