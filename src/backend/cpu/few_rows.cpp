#include "backend/cpu/few_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/store.h"
#include "backend/types.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kMostRows = 4;
/// Below so many weights any implementation will do.
constexpr std::int64_t kFewestWeights = 1024;
/// More bytes of weights are not expected in a second-level cache, beside those of other products.
constexpr std::int64_t kNearBytes = std::int64_t{1} << 18U;

constexpr int kLanes = 16;
using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;

[[gnu::always_inline]] inline void load(Vector& to, const float* from) {
  std::memcpy(&to, from, sizeof to);
}
[[gnu::always_inline]] inline void load(Vector& to, const BFloat16* from) {
  using Halves [[gnu::vector_size(kLanes * sizeof(std::uint16_t))]] = std::uint16_t;
  using Words [[gnu::vector_size(kLanes * sizeof(float))]] = std::uint32_t;
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  const Words words = __builtin_convertvector(halves, Words) << 16;
  std::memcpy(&to, &words, sizeof to);
}
[[gnu::always_inline]] inline void load(Vector& to, const Float16* from) {
  float numbers[kLanes];
#pragma omp simd
  for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = from[lane];
  load(to, numbers);
}
[[gnu::always_inline]] inline void store(float* to, const Vector& from) {
  std::memcpy(to, &from, sizeof from);
}

/// What a thread computes: columns [begin, end) of y, of weights of W.
template <class W>
struct Part {
  const float* x;
  std::int64_t x_stride;  ///< of rows
  const W* w;
  std::int64_t w_stride;  ///< of rows k, or where it is transposed of columns n
  float* y;
  std::int64_t y_stride;  ///< of rows
  std::int64_t k;
  std::int64_t begin;
  std::int64_t end;
};

/// Asks for rows of w in the order in which they lie: several rows that are read together are
/// several streams, which processors fetch at half the speed of one.
template <class W>
class RowsAhead {
 public:
  [[gnu::always_inline]] RowsAhead(const Part<W>& part, std::int64_t row)
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
  const W* line_;
  std::int64_t width_, gap_;
  std::int64_t column_ = 0;
};

/// w [k, n], its rows contiguous: they are read one after the other, and each sum is taken in the
/// order of k.
template <int Rows, class W, bool Far>
struct PlainLoop {
  static constexpr int kTogether = Far ? 8 : 4;  ///< rows of w

  /// Adds Together rows of w from k on, to columns from n on.
  template <int Together>
  [[gnu::always_inline]] static void add(const Part<W>& p, std::int64_t k, std::int64_t n) {
    Vector w[Together];
    for (int j = 0; j < Together; ++j) load(w[j], p.w + (k + j) * p.w_stride + n);
    for (int i = 0; i < Rows; ++i) {
      Vector sum = {};
      if (k > 0) load(sum, p.y + i * p.y_stride + n);
      for (int j = 0; j < Together; ++j) sum += p.x[i * p.x_stride + k + j] * w[j];
      store(p.y + i * p.y_stride + n, sum);
    }
  }

  [[gnu::always_inline]] static void run(Part<W> p) {
    const std::int64_t end = p.begin + (p.end - p.begin) / kLanes * kLanes;
    std::int64_t k = 0;
    for (; k + kTogether <= p.k; k += kTogether) {
      RowsAhead<W> ahead(p, k + kTogether);
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
template <int Rows, class W>
struct TransposedLoop {
  static constexpr int kWidth = 4;  ///< vectors of lanes

  [[gnu::always_inline]] static void column(const Part<W>& p, std::int64_t n) {
    const W* w = p.w + n * p.w_stride;
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

  [[gnu::always_inline]] static void run(Part<W> p) {
    for (std::int64_t n = p.begin; n < p.end; ++n) column(p, n);
  }
};

template <int Rows, class W>
using NearLoop = PlainLoop<Rows, W, false>;
template <int Rows, class W>
using FarLoop = PlainLoop<Rows, W, true>;

template <class W>
using Loop = void (*)(Part<W>);

template <template <int, class> class By, class W>
Loop<W> loop_of(std::int64_t rows) {
  static const std::array<Loop<W>, kMostRows> loops{vectorized<By<1, W>>(), vectorized<By<2, W>>(),
                                                    vectorized<By<3, W>>(), vectorized<By<4, W>>()};
  return loops.at(static_cast<std::size_t>(rows - 1));
}

bool is_plain(const EinsumPlan& plan) { return plan.w.columns == 1; }

template <class W>
Loop<W> loop_for(const EinsumPlan& plan) {
  if (!is_plain(plan)) return loop_of<TransposedLoop, W>(plan.m);
  const bool is_far = plan.k * plan.n * static_cast<std::int64_t>(sizeof(W)) > kNearBytes;
  return is_far ? loop_of<FarLoop, W>(plan.m) : loop_of<NearLoop, W>(plan.m);
}

template <class W>
Part<W> part_of(const EinsumPlan& plan, const float* x, const std::byte* w, float* y) {
  return {.x = x,
          .x_stride = plan.x.rows,
          .w = reinterpret_cast<const W*>(w),
          .w_stride = is_plain(plan) ? plan.w.rows : plan.w.columns,
          .y = y,
          .y_stride = plan.y.rows,
          .k = plan.k,
          .begin = 0,
          .end = plan.n};
}

/// compute(part) for parts of all, and then(part).
template <class W, class Then>
void compute(const Part<W>& all, Loop<W> loop, const Then& then) {
  // Parts begin at whole vectors, for the last columns are summed alike.
  const std::int64_t vectors = ceil_divide(all.end, kLanes);
  for_each_share(vectors, all.k * all.end, [&](std::int64_t begin, std::int64_t end) {
    Part<W> part = all;
    part.begin = begin * kLanes;
    part.end = std::min(end * kLanes, all.end);
    loop(part);
    then(part);
  });
}

std::int64_t room(std::int64_t numbers) {
  return whole_lines(numbers * static_cast<std::int64_t>(sizeof(float)));
}

/// Of floats of 16 bits: rows of x are widened into the workspace, those of y rounded out of it.
template <class T>
struct NarrowRows {
  std::int64_t rows;
  const T* x;
  std::int64_t x_stride;
  float* wide_x;
  T* y;  ///< null: the result is float32
  std::int64_t y_stride;
  Part<T> all;
  Loop<T> loop;

  NarrowRows(const EinsumPlan& plan, const std::byte* x, const std::byte* w, std::byte* y,
             bool rounds, std::byte* workspace)
      : rows(plan.m),
        x(reinterpret_cast<const T*>(x)),
        x_stride(plan.x.rows),
        wide_x(reinterpret_cast<float*>(workspace)),
        y(rounds ? reinterpret_cast<T*>(y) : nullptr),
        y_stride(plan.y.rows),
        all(part_of<T>(plan, wide_x, w, reinterpret_cast<float*>(y))),
        loop(loop_for<T>(plan)) {
    all.x_stride = plan.k;
    if (!rounds) return;
    all.y = reinterpret_cast<float*>(workspace + room(plan.m * plan.k));
    all.y_stride = plan.n;
  }

  void operator()() const {
    for (std::int64_t i = 0; i < rows; ++i) {
      vectorized<ConvertLoop<T, float>>()(x + i * x_stride, wide_x + i * all.k, all.k);
    }
    compute(all, loop, [&](const Part<T>& part) {
      for (std::int64_t i = 0; i < rows && y != nullptr; ++i) {
        vectorized<ConvertLoop<float, T>>()(part.y + i * part.y_stride + part.begin,
                                            y + i * y_stride + part.begin, part.end - part.begin);
      }
    });
  }
};

}  // namespace

bool FewRows::pays(const EinsumPlan& plan) {
  return plan.stack.empty() && !plan.swapped && !plan.copies() && plan.m <= kMostRows &&
         plan.k * plan.n >= kFewestWeights && plan.x.columns == 1 && plan.y.columns == 1 &&
         (is_plain(plan) || plan.w.rows == 1);
}

std::int64_t FewRows::workspace_bytes() const {
  if (operands == DType::kFloat32) return 0;
  return room(plan.m * plan.k) + (is_narrow_float(result) ? room(plan.m * plan.n) : 0);
}

Launch FewRows::bind(const std::byte* x, const std::byte* w, std::byte* y,
                     std::byte* workspace) const {
  if (is_narrow_float(operands)) {
    return with_narrow(operands, [&](auto number) -> Launch {
      return NarrowRows<decltype(number)>(plan, x, w, y, is_narrow_float(result), workspace);
    });
  }
  const auto all =
      part_of<float>(plan, reinterpret_cast<const float*>(x), w, reinterpret_cast<float*>(y));
  return [all, loop = loop_for<float>(plan)] { compute(all, loop, [](const auto& /*part*/) {}); };
}

}  // namespace meshwork::cpu
