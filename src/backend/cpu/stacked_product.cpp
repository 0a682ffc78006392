#include "backend/cpu/stacked_product.h"

#include <omp.h>

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kMostProducts = 8;

/// How many times as long as its rows are many a sum is.
constexpr std::int64_t kRatio = 2;

/// Fewer rows are no work for a thread.
constexpr std::int64_t kFewestRows = 32;

EinsumPlan without_stack(EinsumPlan plan) {
  plan.stack.clear();
  for (MatrixView* view : {&plan.x, &plan.w, &plan.y}) view->stack.clear();
  return plan;
}

}  // namespace

bool StackedProduct::pays(const EinsumPlan& plan) {
  return plan.stack.size() == 1 && plan.stack[0] <= kMostProducts && !plan.copies() &&
         Gemm::can_compute(without_stack(plan)) && plan.x.columns == 1 && plan.w.columns == 1 &&
         plan.k >= kRatio * plan.m && plan.m * plan.n * plan.k >= kSerialProduct;
}

StackedProduct::StackedProduct(const EinsumPlan& plan, const std::byte* x, const std::byte* w,
                               std::byte* y)
    : rows_(plan.m) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(float));
  const EinsumPlan one = without_stack(plan);
  for (std::int64_t i = 0; i < plan.stack[0]; ++i) {
    products_.emplace_back(one, x + i * plan.x.stack[0] * kBytes, w + i * plan.w.stack[0] * kBytes,
                           y + i * plan.y.stack[0] * kBytes);
  }
  parts_ = row_parts(rows_, std::clamp<std::int64_t>(omp_get_max_threads() / plan.stack[0], 1,
                                                     ceil_divide(rows_, kFewestRows)));
}

void StackedProduct::operator()() const {
  const std::int64_t tasks = static_cast<std::int64_t>(products_.size()) * parts_;
  for_each_task(tasks, [this](std::int64_t task) { multiply(task); });
}

/// Task: (product, part of the rows).
void StackedProduct::multiply(std::int64_t task) const {
  const std::int64_t part = task % parts_;
  products_[static_cast<std::size_t>(task / parts_)].compute(
      {rows_ * part / parts_, rows_ * (part + 1) / parts_});
}

}  // namespace meshwork::cpu
