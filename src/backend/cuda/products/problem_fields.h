#pragma once

#include <concepts>
#include <type_traits>

#include "backend/cuda/products/problem.h"

namespace meshwork::cuda::products {

template <class T, class Of>
concept IsOf = std::same_as<std::remove_const_t<T>, Of>;

/// Calls visit(name, field) for all that an operand is, by the names that files have for it.
template <IsOf<Operand> T>
void visit_fields(T& operand, const auto& visit) {
  visit("transposed", operand.is_transposed);
  visit("leading", operand.leading);
  visit("stack", operand.stack);
  visit("alignment", operand.alignment);
}

/// The same of a problem.
template <IsOf<Problem> T>
void visit_fields(T& problem, const auto& visit) {
  visit("operands", problem.operands);
  visit("result", problem.result);
  visit("rows", problem.rows);
  visit("columns", problem.columns);
  visit("depth", problem.depth);
  visit("matrices", problem.stack);
  visit("a", problem.a);
  visit("b", problem.b);
  visit("y", problem.y);
  visit("workspace", problem.workspace);
  visit("tensor_float32", problem.tensor_float32);
  visit("bias", problem.bias);
  visit("relu", problem.relu);
  visit("bias_alignment", problem.bias_alignment);
  visit("bias_stack", problem.bias_stack);
}

}  // namespace meshwork::cuda::products
