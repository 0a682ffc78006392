#include "backend/cpu/halved_product.h"

#include <omp.h>

#include <algorithm>

#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

/// How many times as large as y its second factor is.
constexpr std::int64_t kRatio = 4;

/// Elements of w that the second-level caches of two cores hold beside its moments.
constexpr std::int64_t kMostElements = std::int64_t{1} << 18;

/// Multiplications that are worth the second sum.
constexpr std::int64_t kLeastWork = std::int64_t{1} << 22;

/// Fewer rows are no work for a thread.
constexpr std::int64_t kFewestRows = 32;

/// The sums of so many rows are added at a time.
constexpr std::int64_t kRows = 16;

}  // namespace

bool HalvedProduct::pays(const EinsumPlan& plan) {
  return Gemm::can_compute(plan) && !plan.copies() && plan.x.columns == 1 &&
         plan.k >= kRatio * plan.m && plan.k * plan.n <= kMostElements &&
         plan.m * plan.n * plan.k >= kLeastWork;
}

std::int64_t HalvedProduct::workspace_bytes(const EinsumPlan& plan) {
  return plan.m * plan.n * static_cast<std::int64_t>(sizeof(float));
}

HalvedProduct::HalvedProduct(const EinsumPlan& plan, const std::byte* x, const std::byte* w,
                             std::byte* y, std::byte* workspace)
    : gemm_(plan, x, w, y),
      m_(plan.m),
      n_(plan.n),
      k_(plan.k),
      y_stride_(plan.y.rows),
      parts_(
          std::clamp<std::int64_t>(omp_get_max_threads() / 2, 1, ceil_divide(plan.m, kFewestRows))),
      first_(reinterpret_cast<float*>(y)),
      second_(reinterpret_cast<float*>(workspace)),
      add_(find_chain_step("add")) {}

void HalvedProduct::operator()() const {
  const std::int64_t tasks = 2 * parts_, blocks = ceil_divide(m_, kRows);
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (std::int64_t task = 0; task < tasks; ++task) multiply(task);
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < blocks; ++block) add(block * kRows);
  }
}

/// Task: (half, part of the rows).
void HalvedProduct::multiply(std::int64_t task) const {
  const std::int64_t part = task % parts_, half = k_ / 2;
  const Gemm::Range rows{m_ * part / parts_, m_ * (part + 1) / parts_};
  if (task < parts_) {
    gemm_.compute(rows, {0, half}, first_ + rows.begin * y_stride_, y_stride_);
  } else {
    gemm_.compute(rows, {half, k_}, second_ + rows.begin * n_, n_);
  }
}

/// Rows from `row` on, kRows of them.
void HalvedProduct::add(std::int64_t row) const {
  const std::int64_t end = std::min(row + kRows, m_);
  for (; row < end; ++row) {
    float* const y = first_ + row * y_stride_;
    const float* const operands[] = {y, second_ + row * n_};
    add_(operands, 0, y, n_);
  }
}

}  // namespace meshwork::cpu
