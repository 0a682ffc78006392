#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/einsum_plan.h"

namespace meshwork::cpu {

/// y = x w of float32 by oneDNN's GEMM, which packs both operands: row-major w and y, x of either
/// order. Throws dnnl::error if it fails.
class Gemm {
 public:
  /// Whether the product of a plan, of what it copies the copies, is one.
  static bool can_compute(const EinsumPlan& plan);

  Gemm(const EinsumPlan& plan, const std::byte* x, const std::byte* w, std::byte* y);

  void operator()() const { compute({0, m_}, {0, k_}, y_, y_stride_); }

  struct Range {
    std::int64_t begin;
    std::int64_t end;
  };

  /// Some rows of y to a place of their own, dense.
  void rows(Range rows, float* to) const { compute(rows, {0, k_}, to, n_); }

  /// Some rows of y, summed over a part of k only, to rows that begin `stride` elements apart.
  void compute(Range rows, Range k, float* to, std::int64_t stride) const;

 private:
  char order_;
  std::int64_t m_, n_, k_, x_stride_, w_stride_, y_stride_;
  const float *x_, *w_;
  float* y_;
};

}  // namespace meshwork::cpu
