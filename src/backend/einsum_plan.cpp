#include "backend/einsum_plan.h"

#include <algorithm>

namespace meshwork {
namespace {

using Stride = std::int64_t Factor::*;
using Factors = std::vector<Factor>;

std::int64_t size_of_all(const Factors& factors) {
  std::int64_t size = 1;
  for (const Factor& factor : factors) size *= factor.extent;
  return size;
}

/// The factors as one dimension: its stride, or nothing if there is none. 0 for no factors.
std::optional<std::int64_t> merged_stride(const Factors& factors, Stride stride) {
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i].*stride == 0) return std::nullopt;
    if (i > 0 && factors[i - 1].*stride != factors[i].*stride * factors[i].extent) {
      return std::nullopt;
    }
  }
  return factors.empty() ? 0 : factors.back().*stride;
}

/// Strides of a matrix in place, or nothing if it must be copied. Dimensions of one get the strides
/// of a dense matrix, whatever they were.
std::optional<MatrixView> in_place(const Factors& rows, const Factors& columns, Stride stride) {
  const auto row = merged_stride(rows, stride);
  const auto column = merged_stride(columns, stride);
  if (!row || !column) return std::nullopt;
  MatrixView view{{}, *row, *column};
  if (columns.empty()) {
    view.columns = 1;
    if (rows.empty()) view.rows = 1;
  } else if (rows.empty()) {
    view.rows = view.columns == 1 ? size_of_all(columns) : 1;
  }
  if (view.rows != 1 && view.columns != 1) return std::nullopt;
  return view;
}

/// Factors by the role they play, those of one element left out.
struct Groups {
  Factors stack, m, n, k;
};

Groups group(const Equation& equation) {
  Groups groups;
  for (const Factor& factor : equation.factors) {
    if (factor.extent == 1) continue;
    if (factor.y_stride == 0) {
      groups.k.push_back(factor);
    } else if (factor.x_stride > 0 && factor.w_stride > 0) {
      groups.stack.push_back(factor);
    } else {
      (factor.x_stride > 0 ? groups.m : groups.n).push_back(factor);
    }
  }
  return groups;
}

Factors sorted(Factors factors, Stride stride) {
  std::stable_sort(factors.begin(), factors.end(),
                   [&](const Factor& a, const Factor& b) { return a.*stride > b.*stride; });
  return factors;
}

/// Copy between a tensor and its dense stack of [rows, columns].
std::vector<CopyDim> copy_dims(const Factors& stack, const Factors& rows, const Factors& columns,
                               Stride stride, bool to_tensor) {
  Factors all = stack;
  all.insert(all.end(), rows.begin(), rows.end());
  all.insert(all.end(), columns.begin(), columns.end());
  std::vector<CopyDim> dims(all.size());
  std::int64_t dense = 1;
  for (std::size_t i = all.size(); i-- > 0;) {
    const std::int64_t in_tensor = all[i].*stride;
    dims[i] = to_tensor ? CopyDim{all[i].extent, dense, in_tensor}
                        : CopyDim{all[i].extent, in_tensor, dense};
    dense *= all[i].extent;
  }
  return dims;
}

/// Stack strides: those of the tensor in place, or dense ones behind matrices of `matrix` elements.
Shape stack_strides(const Factors& stack, Stride stride, bool copied, std::int64_t matrix) {
  Shape strides(stack.size());
  for (std::size_t i = stack.size(); i-- > 0;) {
    strides[i] = copied ? matrix : stack[i].*stride;
    matrix *= stack[i].extent;
  }
  return strides;
}

/// The plan for one order of the factors in each group.
EinsumPlan plan_in_order(const Groups& g, bool copy_all) {
  EinsumPlan plan;
  plan.m = size_of_all(g.m);
  plan.n = size_of_all(g.n);
  plan.k = size_of_all(g.k);
  for (const Factor& factor : g.stack) plan.stack.push_back(factor.extent);
  const auto x = in_place(g.m, g.k, &Factor::x_stride);
  const auto w = in_place(g.k, g.n, &Factor::w_stride);
  const auto y = in_place(g.m, g.n, &Factor::y_stride);
  const bool copy_x = copy_all || !x, copy_w = copy_all || !w, copy_y = copy_all || !y;
  if (copy_x) plan.copy_x = copy_dims(g.stack, g.m, g.k, &Factor::x_stride, false);
  if (copy_w) plan.copy_w = copy_dims(g.stack, g.k, g.n, &Factor::w_stride, false);
  if (copy_y) plan.copy_y = copy_dims(g.stack, g.m, g.n, &Factor::y_stride, true);
  plan.x = copy_x ? MatrixView{{}, plan.k, 1} : *x;
  plan.w = copy_w ? MatrixView{{}, plan.n, 1} : *w;
  plan.y = copy_y ? MatrixView{{}, plan.n, 1} : *y;
  plan.x.stack = stack_strides(g.stack, &Factor::x_stride, copy_x, plan.m * plan.k);
  plan.w.stack = stack_strides(g.stack, &Factor::w_stride, copy_w, plan.k * plan.n);
  plan.y.stack = stack_strides(g.stack, &Factor::y_stride, copy_y, plan.m * plan.n);
  // A row times a matrix runs up to five times faster than a matrix times a column.
  if (plan.n == 1 && plan.m > 1 && plan.y.rows == 1) {
    plan.y.columns = plan.m;
    if (plan.w.rows == 1) plan.w.columns = plan.k;
  }
  plan.swapped = plan.y.columns != 1;
  return plan;
}

std::int64_t copied_elements(const EinsumPlan& plan) {
  return (plan.copy_x ? plan.x_elements() : 0) + (plan.copy_w ? plan.w_elements() : 0) +
         (plan.copy_y ? plan.y_elements() : 0);
}

/// Joins neighbours in the stack over which all three tensors can be walked with one stride.
void merge_stack(EinsumPlan& plan) {
  MatrixView* const views[] = {&plan.x, &plan.w, &plan.y};
  for (std::size_t d = plan.stack.size(); d-- > 1;) {
    const bool joins = std::all_of(std::begin(views), std::end(views), [&](const MatrixView* view) {
      return view->stack[d - 1] == view->stack[d] * plan.stack[d];
    });
    if (!joins) continue;
    plan.stack[d] *= plan.stack[d - 1];
    plan.stack.erase(plan.stack.begin() + static_cast<std::ptrdiff_t>(d) - 1);
    for (MatrixView* view : views) {
      view->stack.erase(view->stack.begin() + static_cast<std::ptrdiff_t>(d) - 1);
    }
  }
}

}  // namespace

EinsumPlan plan_einsum(const Equation& equation, bool copy_all) {
  const Groups groups = group(equation);
  std::optional<EinsumPlan> best;
  for (const Stride m_order : {&Factor::y_stride, &Factor::x_stride}) {
    for (const Stride n_order : {&Factor::y_stride, &Factor::w_stride}) {
      for (const Stride k_order : {&Factor::x_stride, &Factor::w_stride}) {
        const Groups ordered{sorted(groups.stack, &Factor::y_stride), sorted(groups.m, m_order),
                             sorted(groups.n, n_order), sorted(groups.k, k_order)};
        EinsumPlan plan = plan_in_order(ordered, copy_all);
        if (!best || copied_elements(plan) < copied_elements(*best)) best = std::move(plan);
      }
    }
  }
  merge_stack(*best);
  return *std::move(best);
}

}  // namespace meshwork
