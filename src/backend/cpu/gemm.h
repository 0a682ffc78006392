#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/einsum_plan.h"

namespace meshwork::cpu {

/// y = x w of float32 by oneDNN's GEMM, which packs both operands: row-major y, x and w of either
/// order. No bit depends on the number of threads. Throws dnnl::error if it fails.
class Gemm {
 public:
  /// Whether the product of a plan, of what it copies the copies, is one.
  static bool can_compute(const EinsumPlan& plan);

  Gemm(const EinsumPlan& plan, const std::byte* x, const std::byte* w, std::byte* y);

  /// All of y, a block of it by each thread: faster than to let oneDNN share it out, by up to 10 %.
  void operator()() const;

  struct Range {
    std::int64_t begin;
    std::int64_t end;
  };

  /// Some rows of y.
  void compute(Range rows) const { compute(rows, {0, n_}, y_ + rows.begin * y_stride_, y_stride_); }

  /// Some rows to a place of their own, dense.
  void rows(Range rows, float* to) const { compute(rows, {0, n_}, to, n_); }

 private:
  void compute(Range rows, Range columns, float* to, std::int64_t stride) const;

  char x_order_, w_order_;
  std::int64_t m_, n_, k_, x_stride_, w_stride_, y_stride_;
  const float *x_, *w_;
  float* y_;
};

}  // namespace meshwork::cpu
