#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/products/epilogue.h"
#include "backend/einsum_plan.h"
#include "base/dtype.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda::products {

/// Products of a matrix and few vectors, as when one token is generated, and sums of products of
/// vectors: the matrix is read once, as it lies. A long sum is cut into parts, of which kernels
/// that run at a time compute one each, and which are added up in order.
struct FewRows {
  /// Whether the product of a plan is one for which this pays.
  static bool pays(const EinsumPlan& plan);

  /// Bytes of scratch; by the plan alone.
  static std::int64_t workspace(const EinsumPlan& plan, DType operands);

  /// `x`, `w` and `y` lie as the plan says, behind its copies. With an epilogue `y` is dense.
  static Launch bind(CudaStream& stream, const EinsumPlan& plan, DType operands, DType result,
                     const std::byte* x, const std::byte* w, std::byte* y, std::byte* workspace,
                     const Epilogue& epilogue);
};

}  // namespace meshwork::cuda::products
