#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/backend.h"
#include "backend/einsum_plan.h"

namespace meshwork::cpu {

/// y = x w where y has few rows, as when one token is generated: w is read once, as it lies, and
/// nothing is packed. Of floats of 16 bits sums are float32, and rounded once if y is such. No bit
/// depends on the number of threads.
struct FewRows {
  /// Whether the product of a plan is one for which this pays.
  static bool pays(const EinsumPlan& plan);

  const EinsumPlan& plan;
  DType operands;  ///< float32, bfloat16 or float16
  DType result;

  std::int64_t workspace_bytes() const;
  Launch bind(const std::byte* x, const std::byte* w, std::byte* y, std::byte* workspace) const;
};

}  // namespace meshwork::cpu
