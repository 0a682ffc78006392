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
/// So many weights and more are not expected in a second-level cache.
constexpr std::int64_t kFarWeights = std::int64_t{1} << 17U;

constexpr int kLanes = 16;
using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;

[[gnu::always_inline]] inline void load(Vector& to, const float* from) {
  std::memcpy(&to, from, sizeof to);
}
[[gnu::always_inline]] inline void store(float* to, const Vector& from) {
  std::memcpy(to, &from, sizeof from);
}

/// Asks for rows of w in the order in which they lie: several rows that are read together are
/// several streams, which processors fetch at half the speed of one.
class RowsAhead {
 public:
  [[gnu::always_inline]] RowsAhead(const FewRows::Part& part, std::int64_t row)
      : line_(part.w + row * part.w_stride + part.begin),
        width_(part.end - part.begin),
        gap_(part.w_stride - width_) {}

  [[gnu::always_inline]] void fetch() {
    constexpr int kToRead = 0, kSecondCache = 2;
    __builtin_prefetch(line_, kToRead, kSecondCache);
    line_ += kLanes;
    column_ += kLanes;
    if (column_ < width_) return;
    line_ += gap_ - (column_ - width_);
    column_ = 0;
  }

 private:
  const float* line_;
  std::int64_t width_, gap_;
  std::int64_t column_ = 0;
};

/// w [k, n], its rows contiguous: they are read one after the other, and each sum is taken in the
/// order of k.
template <int Rows, bool Far>
struct PlainLoop {
  static constexpr int kTogether = Far ? 8 : 4;  ///< rows of w

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
      RowsAhead ahead(p, k + kTogether);
      for (std::int64_t n = p.begin; n < end; n += kLanes) {
        for (int j = 0; Far && j < kTogether; ++j) ahead.fetch();
        add<kTogether>(p, k, n);
      }
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

template <int Rows>
using NearLoop = PlainLoop<Rows, false>;
template <int Rows>
using FarLoop = PlainLoop<Rows, true>;

using Loop = void (*)(FewRows::Part);

template <template <int> class By>
Loop loop_for(std::int64_t rows) {
  static const std::array<Loop, kMostRows> loops{vectorized<By<1>>(), vectorized<By<2>>(),
                                                 vectorized<By<3>>(), vectorized<By<4>>()};
  return loops.at(static_cast<std::size_t>(rows - 1));
}

bool is_plain(const EinsumPlan& plan) { return plan.w.columns == 1; }

Loop loop_for(const EinsumPlan& plan) {
  if (!is_plain(plan)) return loop_for<TransposedLoop>(plan.m);
  return plan.k * plan.n < kFarWeights ? loop_for<NearLoop>(plan.m) : loop_for<FarLoop>(plan.m);
}

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
      compute_(loop_for(plan)) {}

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
