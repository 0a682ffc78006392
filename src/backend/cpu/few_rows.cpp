#include "backend/cpu/few_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/simd.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kMostRows = 4;
/// Below so many weights any implementation will do.
constexpr std::int64_t kFewestWeights = 1024;

constexpr int kLanes = 16;
using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;

[[gnu::always_inline]] inline void load(Vector& to, const float* from) {
  std::memcpy(&to, from, sizeof to);
}
[[gnu::always_inline]] inline void store(float* to, const Vector& from) {
  std::memcpy(to, &from, sizeof from);
}

/// w [k, n], its rows contiguous: they are read one after the other, and each sum is taken in the
/// order of k.
template <int Rows>
struct PlainLoop {
  static constexpr int kTogether = 4;  ///< rows of w

  /// Adds Together rows of w from k on, to columns from n on.
  template <int Together>
  [[gnu::always_inline]] static void add(const FewRows::Part& p, std::int64_t k, std::int64_t n) {
    Vector w[Together];
    for (int j = 0; j < Together; ++j) load(w[j], p.w + (k + j) * p.w_stride + n);
    for (int i = 0; i < Rows; ++i) {
      Vector sum = {};
      if (k > 0) load(sum, p.y + i * p.y_stride + n);
      for (int j = 0; j < Together; ++j) sum += p.x[i * p.x_stride + k + j] * w[j];
      store(p.y + i * p.y_stride + n, sum);
    }
  }

  [[gnu::always_inline]] static void run(FewRows::Part p) {
    const std::int64_t end = p.begin + (p.end - p.begin) / kLanes * kLanes;
    std::int64_t k = 0;
    for (; k + kTogether <= p.k; k += kTogether) {
      for (std::int64_t n = p.begin; n < end; n += kLanes) add<kTogether>(p, k, n);
    }
    for (; k < p.k; ++k) {
      for (std::int64_t n = p.begin; n < end; n += kLanes) add<1>(p, k, n);
    }
    for (std::int64_t n = end; n < p.end; ++n) {
      for (int i = 0; i < Rows; ++i) {
        float sum = 0;
        for (k = 0; k < p.k; ++k) sum += p.x[i * p.x_stride + k] * p.w[k * p.w_stride + n];
        p.y[i * p.y_stride + n] = sum;
      }
    }
  }
};

/// w [k, n], its columns contiguous: each sum is taken in lanes.
template <int Rows>
struct TransposedLoop {
  static constexpr int kWidth = 4;  ///< vectors of lanes

  [[gnu::always_inline]] static void column(const FewRows::Part& p, std::int64_t n) {
    const float* w = p.w + n * p.w_stride;
    Vector sums[Rows][kWidth] = {};
    std::int64_t k = 0;
    for (; k + kWidth * kLanes <= p.k; k += kWidth * kLanes) {
      for (int j = 0; j < kWidth; ++j) {
        Vector weights, x;
        load(weights, w + k + j * kLanes);
        for (int i = 0; i < Rows; ++i) {
          load(x, p.x + i * p.x_stride + k + j * kLanes);
          sums[i][j] += x * weights;
        }
      }
    }
    for (int i = 0; i < Rows; ++i) {
      float lanes[kLanes];
      store(lanes, (sums[i][0] + sums[i][1]) + (sums[i][2] + sums[i][3]));
      for (int width = kLanes / 2; width > 0; width /= 2) {
        for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
      }
      float sum = lanes[0];
      for (std::int64_t rest = k; rest < p.k; ++rest) sum += p.x[i * p.x_stride + rest] * w[rest];
      p.y[i * p.y_stride + n] = sum;
    }
  }

  [[gnu::always_inline]] static void run(FewRows::Part p) {
    for (std::int64_t n = p.begin; n < p.end; ++n) column(p, n);
  }
};

template <template <int> class Loop>
std::array<void (*)(FewRows::Part), kMostRows> loops() {
  return {vectorized<Loop<1>>(), vectorized<Loop<2>>(), vectorized<Loop<3>>(),
          vectorized<Loop<4>>()};
}

bool is_plain(const EinsumPlan& plan) { return plan.w.columns == 1; }

}  // namespace

bool FewRows::pays(const EinsumPlan& plan) {
  return plan.stack.empty() && !plan.swapped && !plan.copies() && plan.m <= kMostRows &&
         plan.k * plan.n >= kFewestWeights && plan.x.columns == 1 && plan.y.columns == 1 &&
         (is_plain(plan) || plan.w.rows == 1);
}

FewRows::FewRows(const EinsumPlan& plan, const std::byte* x, const std::byte* w, std::byte* y)
    : all_{.x = reinterpret_cast<const float*>(x),
           .x_stride = plan.x.rows,
           .w = reinterpret_cast<const float*>(w),
           .w_stride = is_plain(plan) ? plan.w.rows : plan.w.columns,
           .y = reinterpret_cast<float*>(y),
           .y_stride = plan.y.rows,
           .k = plan.k,
           .begin = 0,
           .end = plan.n},
      compute_((is_plain(plan) ? loops<PlainLoop>() : loops<TransposedLoop>())
                   .at(static_cast<std::size_t>(plan.m - 1))) {}

void FewRows::operator()() const {
  // Parts begin at whole vectors, for the last columns are summed alike.
  const std::int64_t vectors = ceil_divide(all_.end, kLanes);
  for_each_share(vectors, all_.k * all_.end, [&](std::int64_t begin, std::int64_t end) {
    Part part = all_;
    part.begin = begin * kLanes;
    part.end = std::min(end * kLanes, all_.end);
    compute_(part);
  });
}

}  // namespace meshwork::cpu
