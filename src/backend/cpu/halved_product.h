#pragma once

#include <cstdint>

#include "backend/cpu/chain_steps.h"
#include "backend/cpu/einsum_plan.h"
#include "backend/cpu/gemm.h"

namespace meshwork::cpu {

/// y = x w as x[:, :k/2] w[:k/2] + x[:, k/2:] w[k/2:], one half for each half of the threads, for a
/// w that is large beside y. An update writes w by rows; were all of w read by all threads, each
/// row would go from core to core and back in every step. The halves depend on no number of
/// threads.
class HalvedProduct {
 public:
  static bool pays(const EinsumPlan& plan);
  static std::int64_t workspace_bytes(const EinsumPlan& plan);

  /// Of a plan for which it pays.
  HalvedProduct(const EinsumPlan& plan, const std::byte* x, const std::byte* w, std::byte* y,
                std::byte* workspace);

  void operator()() const;

 private:
  void multiply(std::int64_t task) const;
  void add(std::int64_t row) const;

  Gemm gemm_;
  std::int64_t m_, n_, k_, y_stride_;
  std::int64_t parts_;  ///< of the rows of y, in each half
  float* first_;        ///< y
  float* second_;       ///< [m, n]
  ChainStep add_;
};

}  // namespace meshwork::cpu
