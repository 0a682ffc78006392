#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/einsum_plan.h"

namespace meshwork::cpu {

/// One dnnl_sgemm, row-major, whose operands may be transposed ('T'): y = alpha x w + beta y of
/// [m, k] and [k, n]. Throws dnnl::error if it fails.
struct Sgemm {
  char x_order, w_order;
  std::int64_t m, n, k;
  float alpha;
  const float* x;
  std::int64_t x_stride;
  const float* w;
  std::int64_t w_stride;
  float beta;
  float* y;
  std::int64_t y_stride;
};
void multiply(const Sgemm& product);

/// Generates the code of such products, once in a process: it takes some 50 ms, for which at the
/// first step all would wait. When kernels are bound other threads may still be reading data.
void prepare_sgemm();

/// Into how many parts of equal size the rows of a product may be cut so that no bit depends on how
/// many are asked for. oneDNN computes the last rows of a block in another way than the others, but
/// for its code for AVX-512, which treats all alike: elsewhere the parts depend on the rows alone.
std::int64_t row_parts(std::int64_t rows, std::int64_t wanted);

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
  bool packs_;  ///< oneDNN does, whoever computes which part
  Factor x_, w_;
  float* y_;
};

}  // namespace meshwork::cpu
