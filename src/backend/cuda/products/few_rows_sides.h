#pragma once

#include <cstdint>

#include "backend/einsum_plan.h"
#include "base/dtype.h"

namespace meshwork::cuda::products {

/// Threads of a block of these kernels, and its warps of 32.
constexpr int kFewRowsThreads = 256;
constexpr std::int64_t kFewRowsWarps = kFewRowsThreads / 32;
/// Bytes that a thread loads at a time, at most.
constexpr std::int64_t kFewRowsLoad = 16;

// Parameters of kernels, as few_rows_text.h has them.
struct Strides {
  std::int64_t matrix_line = 0, matrix_k = 0, few_row = 0, few_k = 0;
  std::int64_t y_row = 0, y_line = 0, y_part = 0;
};

struct Sizes {
  std::int64_t lines, depth;
  std::int64_t part = 0, parts = 1;  ///< of the sum: how long, and how many
};

/// A product of a plan whose larger operand is `matrix`, of lines, and the other one `few`, of
/// rows: y[row, line] = sum over k of matrix[line, k] few[row, k].
struct Sides {
  std::int64_t rows;
  Sizes sizes;
  Strides strides;
  bool swapped;  ///< x is the matrix
  bool by_dots;  ///< k is contiguous in the lines; else lines are neighbours
  /// Elements that a thread may load at a time of the matrix and of few, if addresses allow.
  std::int64_t width = 1, few_width = 1;
  Shape stack, matrix_stack, few_stack, y_stack;

  Sides(const EinsumPlan& plan, DType operands);

  std::int64_t results() const { return num_elements(stack) * rows * sizes.lines; }
  /// Blocks that go through the lines of one matrix, each thread through `of_width`.
  std::int64_t tiles(std::int64_t of_width) const;

 private:
  void choose_widths(DType operands);
  void choose_parts();
};

}  // namespace meshwork::cuda::products
