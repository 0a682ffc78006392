#include "backend/cpu/gemm.h"

#include <dnnl.hpp>

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace meshwork::cpu {
namespace {

/// Columns at a time: memory for packing, which is not in the plan, grows with them.
constexpr std::int64_t kColumns = 1024;

/// oneDNN generates the code of its GEMM for the first product, which takes some 50 ms. Here other
/// threads may still be reading data; at the first step all would wait.
bool generate_code() {
  constexpr std::int64_t kSize = 64;
  const std::vector<float> factor(kSize * kSize);
  std::vector<float> product(kSize * kSize);
  return dnnl_sgemm('T', 'N', kSize, kSize, kSize, 1.0F, factor.data(), kSize, factor.data(), kSize,
                    0.0F, product.data(), kSize) == dnnl_success;
}

}  // namespace

bool Gemm::can_compute(const EinsumPlan& plan) {
  return plan.stack.empty() && !plan.swapped && plan.w.columns == 1;
}

Gemm::Gemm(const EinsumPlan& plan, const std::byte* x, const std::byte* w, std::byte* y)
    : order_(plan.x.columns == 1 ? 'N' : 'T'),
      m_(plan.m),
      n_(plan.n),
      k_(plan.k),
      x_stride_(plan.x.columns == 1 ? plan.x.rows : plan.x.columns),
      w_stride_(plan.w.rows),
      y_stride_(plan.y.rows),
      x_(reinterpret_cast<const float*>(x)),
      w_(reinterpret_cast<const float*>(w)),
      y_(reinterpret_cast<float*>(y)) {
  [[maybe_unused]] static const bool generated = generate_code();
}

void Gemm::compute(Range rows, float* to, std::int64_t stride) const {
  const float* x = order_ == 'N' ? x_ + rows.begin * x_stride_ : x_ + rows.begin;
  for (std::int64_t j = 0; j < n_; j += kColumns) {
    dnnl::error::wrap_c_api(
        dnnl_sgemm(order_, 'N', rows.end - rows.begin, std::min(kColumns, n_ - j), k_, 1.0F, x,
                   x_stride_, w_ + j, w_stride_, 0.0F, to + j, stride),
        "a matrix product failed");
  }
}

}  // namespace meshwork::cpu
