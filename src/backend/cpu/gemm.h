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

  /// A matrix in row-major order ('N') or that of its transpose.
  struct Factor {
    Factor(const MatrixView& view, const std::byte* bytes);

    const float* row(std::int64_t i) const { return data + i * (order == 'N' ? stride : 1); }
    const float* column(std::int64_t j) const { return data + j * (order == 'N' ? 1 : stride); }

    const float* data;
    char order;
    std::int64_t stride;
  };

  std::int64_t m_, n_, k_, y_stride_;
  Factor x_, w_;
  float* y_;
};

}  // namespace meshwork::cpu
