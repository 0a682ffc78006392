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

  void operator()() const { compute({0, m_}); }

  struct Range {
    std::int64_t begin;
    std::int64_t end;
  };

  /// Some rows of y.
  void compute(Range rows) const { compute(rows, y_ + rows.begin * y_stride_, y_stride_); }

  /// Some rows to a place of their own, dense.
  void rows(Range rows, float* to) const { compute(rows, to, n_); }

 private:
  void compute(Range rows, float* to, std::int64_t stride) const;

  char order_;
  std::int64_t m_, n_, k_, x_stride_, w_stride_, y_stride_;
  const float *x_, *w_;
  float* y_;
};

}  // namespace meshwork::cpu
