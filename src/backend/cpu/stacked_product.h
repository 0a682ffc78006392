#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/gemm.h"
#include "backend/einsum_plan.h"

namespace meshwork::cpu {

/// The products of a stack, each by a part of the threads, so that what it reads stays in their
/// caches: for few of them, with sums that are long beside the rows of the result.
class StackedProduct {
 public:
  static bool pays(const EinsumPlan& plan);

  /// Of a plan for which it pays.
  StackedProduct(const EinsumPlan& plan, const std::byte* x, const std::byte* w, std::byte* y);

  void operator()() const;

 private:
  void multiply(std::int64_t task) const;

  std::vector<Gemm> products_;
  std::int64_t rows_;   ///< of each
  std::int64_t parts_;  ///< of the rows
};

}  // namespace meshwork::cpu
