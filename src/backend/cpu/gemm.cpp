#include "backend/cpu/gemm.h"

#include <omp.h>
#include <dnnl.hpp>

#include <algorithm>
#include <vector>

#include "backend/cpu/simd.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

/// Of a block, if y has as many. Its borders are whole vectors.
constexpr std::int64_t kFewestColumns = 128;
constexpr std::int64_t kVector = 16;

/// Of a part, where parts depend on the rows alone: a factor that is packed for each of them is
/// read so many times.
constexpr std::int64_t kPartRows = 192;

/// For AVX-512 oneDNN packs both factors, and adds up in another order then, where
/// 1 / rows + 1 / columns of the result is below 0.00196: of a result of 1024 x 1024, say.
constexpr double kPacked = 0.00196;
constexpr std::int64_t kPackedExtent = 1024;

bool is_packed(std::int64_t rows, std::int64_t columns) {
  return machine_isa() == Isa::kAvx512 &&
         1.0 / static_cast<double>(rows) + 1.0 / static_cast<double>(columns) < kPacked;
}

/// A product is packed as a whole where there are so many parts that are, to be shared out.
constexpr std::int64_t kFewestPackedParts = 8;

bool generate_code() {
  constexpr std::int64_t kSize = 64;
  const std::vector<float> factor(kSize * kSize);
  std::vector<float> product(kSize * kSize);
  return dnnl_sgemm('T', 'N', kSize, kSize, kSize, 1.0F, factor.data(), kSize, factor.data(), kSize,
                    0.0F, product.data(), kSize) == dnnl_success;
}

}  // namespace

void multiply(const Sgemm& p) {
  dnnl::error::wrap_c_api(dnnl_sgemm(p.x_order, p.w_order, p.m, p.n, p.k, p.alpha, p.x, p.x_stride,
                                     p.w, p.w_stride, p.beta, p.y, p.y_stride),
                          "a matrix product failed");
}

void prepare_sgemm() { [[maybe_unused]] static const bool generated = generate_code(); }

std::int64_t row_parts(std::int64_t rows, std::int64_t wanted) {
  if (machine_isa() == Isa::kAvx512) return wanted;
  return std::max<std::int64_t>(1, ceil_divide(rows, kPartRows));
}

bool Gemm::can_compute(const EinsumPlan& plan) { return plan.stack.empty() && !plan.swapped; }

Gemm::Factor::Factor(const MatrixView& view, const std::byte* bytes)
    : data(reinterpret_cast<const float*>(bytes)),
      order(view.columns == 1 ? 'N' : 'T'),
      stride(view.columns == 1 ? view.rows : view.columns) {}

Gemm::Gemm(const EinsumPlan& plan, const std::byte* x, const std::byte* w, std::byte* y)
    : m_(plan.m),
      n_(plan.n),
      k_(plan.k),
      y_stride_(plan.y.rows),
      packs_(is_packed(kPackedExtent, kPackedExtent) &&
             (m_ / kPackedExtent) * (n_ / kPackedExtent) >= kFewestPackedParts),
      x_(plan.x, x),
      w_(plan.w, w),
      y_(reinterpret_cast<float*>(y)) {
  prepare_sgemm();
}

void Gemm::operator()() const {
  const std::int64_t threads = omp_get_max_threads();
  const std::int64_t fewest = packs_ ? kPackedExtent : kFewestColumns;
  const std::int64_t across = std::clamp<std::int64_t>(n_ / fewest, 1, threads);
  std::int64_t down = row_parts(m_, threads / across);
  if (packs_) down = std::clamp<std::int64_t>(m_ / kPackedExtent, 1, down);
  for_each_task(across * down, m_ * n_, [&](std::int64_t task) {
    const std::int64_t i = task / across, j = task % across, vectors = n_ / kVector;
    const Range rows{m_ * i / down, m_ * (i + 1) / down};
    const Range columns{vectors * j / across * kVector,
                        j + 1 == across ? n_ : vectors * (j + 1) / across * kVector};
    compute(rows, columns, y_ + rows.begin * y_stride_ + columns.begin, y_stride_);
  });
}

void Gemm::compute(Range rows, Range columns, float* to, std::int64_t stride) const {
  const std::int64_t height = rows.end - rows.begin, width = columns.end - columns.begin;
  if (!packs_ && is_packed(height, width)) {
    // In halves of what is long in memory.
    if (w_.order == 'N') {
      const std::int64_t middle = rows.begin + height / 2;
      compute({rows.begin, middle}, columns, to, stride);
      compute({middle, rows.end}, columns, to + height / 2 * stride, stride);
    } else {
      const std::int64_t half = width / 2 / kVector * kVector, middle = columns.begin + half;
      compute(rows, {columns.begin, middle}, to, stride);
      compute(rows, {middle, columns.end}, to + half, stride);
    }
    return;
  }
  multiply({.x_order = x_.order,
            .w_order = w_.order,
            .m = height,
            .n = width,
            .k = k_,
            .alpha = 1,
            .x = x_.row(rows.begin),
            .x_stride = x_.stride,
            .w = w_.column(columns.begin),
            .w_stride = w_.stride,
            .beta = 0,
            .y = to,
            .y_stride = stride});
}

}  // namespace meshwork::cpu
