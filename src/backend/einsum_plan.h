#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/copy_dim.h"
#include "backend/equation.h"

namespace meshwork {

/// A tensor seen as a stack of matrices: strides in elements, one for each dimension of the stack.
struct MatrixView {
  Shape stack;
  std::int64_t rows = 1;     ///< stride
  std::int64_t columns = 1;  ///< stride
};

/// An equation as stacks of matrix products y[b, m, n] = sum over k of x[b, m, k] w[b, k, n].
/// A tensor whose factors cannot be walked with one stride each for m, n and k, one of them 1, is
/// copied: operands beforehand, the result afterwards. If only the rows of y are contiguous, or
/// it is one column, its transpose is computed, with x and w in each other's place: `swapped`.
struct EinsumPlan {
  Shape stack;
  std::int64_t m = 1, n = 1, k = 1;
  MatrixView x, w, y;
  bool swapped = false;
  // Dimensions of the copies, from the tensor to a dense stack; for y from the stack to the tensor.
  std::optional<std::vector<CopyDim>> copy_x, copy_w, copy_y;

  bool copies() const { return copy_x || copy_w || copy_y; }
  std::int64_t stack_size() const { return num_elements(stack); }
  std::int64_t x_elements() const { return stack_size() * m * k; }
  std::int64_t w_elements() const { return stack_size() * k * n; }
  std::int64_t y_elements() const { return stack_size() * m * n; }
};

/// The plan that copies least; `copy_all`: every tensor is copied, so that all are dense.
EinsumPlan plan_einsum(const Equation& equation, bool copy_all);

}  // namespace meshwork
