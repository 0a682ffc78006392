// c along `axis`:
//
// shifted_sums:      y[0, c] = sum of x, y[1, c] = sum of x - shift[c], y[2, c] = sum of its square
// scale_offset:      y = x scale[c] + offset[c]
// scale_offset_sums: y[0, c] = sum of x dy, y[1, c] = sum of dy
#include <algorithm>
#include <type_traits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/store.h"
#include "backend/types.h"
#include "backend/views.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

/// Columns that are summed at a time: their sums stay in the first cache.
constexpr std::int64_t kPart = 1024;
/// Columns below which several rows are taken for one, so that few channels make long loops.
constexpr std::int64_t kWide = 256;

/// `count` elements of [0, extent), over and over from the first.
void repeat(const float* row, std::int64_t extent, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += extent) {
    std::copy_n(row, std::min(extent, count - i), to + i);
  }
}

/// Adds up the rows of `extent` that stand in `sums`, the last perhaps shorter, in the first.
void add_repeats(float* sums, std::int64_t extent, std::int64_t count) {
  for (std::int64_t i = extent; i < count; i += extent) {
    const float* more = sums + i;
    const std::int64_t columns = std::min(extent, count - i);
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += more[c];
  }
}

/// What is summed of x and b, which is the shift or dy.
struct Moments {
  static constexpr bool kShifts = true;
  [[gnu::always_inline]] static float first(float x, float shift) { return x - shift; }
  [[gnu::always_inline]] static float second(float x, float shift) {
    return (x - shift) * (x - shift);
  }
};

struct Products {
  static constexpr bool kShifts = false;
  [[gnu::always_inline]] static float first(float x, float dy) { return x * dy; }
  [[gnu::always_inline]] static float second(float /*x*/, float dy) { return dy; }
};

/// What stands beside x: the shift, always float32, or dy.
template <class Terms, class X>
using Beside = std::conditional_t<Terms::kShifts, float, X>;

/// Adds rows of x and b, `x_stride` and `b_stride` apart, to two rows of sums.
template <class Terms, class X>
struct SumRowsLoop {
  using B = Beside<Terms, X>;

  [[gnu::always_inline]] static float first(X x, B b) {
    return Terms::first(computed(x), computed(b));
  }
  [[gnu::always_inline]] static float second(X x, B b) {
    return Terms::second(computed(x), computed(b));
  }

  [[gnu::always_inline]] static void run(const X* x, std::int64_t x_stride, const B* b,
                                         std::int64_t b_stride, std::int64_t rows, float* y1,
                                         float* y2, std::int64_t columns) {
    std::int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      const X *x0 = x + row * x_stride, *x1 = x0 + x_stride, *x2 = x1 + x_stride,
              *x3 = x2 + x_stride;
      const B *b0 = b + row * b_stride, *b1 = b0 + b_stride, *b2 = b1 + b_stride,
              *b3 = b2 + b_stride;
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) {
        y1[c] += (first(x0[c], b0[c]) + first(x1[c], b1[c])) +
                 (first(x2[c], b2[c]) + first(x3[c], b3[c]));
        y2[c] += (second(x0[c], b0[c]) + second(x1[c], b1[c])) +
                 (second(x2[c], b2[c]) + second(x3[c], b3[c]));
      }
    }
    for (; row < rows; ++row) {
      const X* x0 = x + row * x_stride;
      const B* b0 = b + row * b_stride;
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) {
        y1[c] += first(x0[c], b0[c]);
        y2[c] += second(x0[c], b0[c]);
      }
    }
  }
};

/// How sums over rows of channels are cut, which depends on the shape alone: blocks of rows, each
/// of `together` rows of x, in parts of their columns.
struct Blocks {
  std::int64_t together, columns, part, parts, rows, block, count;

  explicit Blocks(const AxisView& view)
      : together(std::max<std::int64_t>(1, kWide / view.extent)),
        columns(together * view.extent),
        part(std::min(columns, kPart)),
        parts(ceil_divide(columns, part)),
        rows(ceil_divide(view.outer, together)),
        block(std::max<std::int64_t>(32, kTaskElements / part)),
        count(ceil_divide(rows, block)) {}
};

/// All that a launch needs; `b` is one row of channels where it is a shift, else like x.
template <class Terms, class X>
struct Sums {
  using B = Beside<Terms, X>;
  static constexpr bool shifts = Terms::kShifts;

  AxisView view;
  const X* x;
  const B* b;
  float *y, *results;
  decltype(vectorized<SumRowsLoop<Terms, X>>()) sum = vectorized<SumRowsLoop<Terms, X>>();

  /// Sums of one block in `results`, [block, 2, channels].
  void sum_block(const Blocks& blocks, std::int64_t task) const {
    const std::int64_t begin = task % blocks.parts * blocks.part;
    const std::int64_t count = std::min(blocks.part, blocks.columns - begin);
    const std::int64_t block = task / blocks.parts;
    const std::int64_t row = block * blocks.block;
    const std::int64_t end = std::min(row + blocks.block, blocks.rows);
    float first[kPart] = {}, second[kPart] = {};
    B shift[kPart];
    // There are several parts only where each row is one of x.
    if constexpr (shifts) repeat(b + begin, view.extent, shift, count);
    const std::int64_t stride = shifts ? 0 : blocks.columns;
    // The last row may hold fewer rows of x than the others.
    const std::int64_t whole = std::min(end, view.outer / blocks.together);
    const std::int64_t place = row * blocks.columns + begin;
    sum(x + place, blocks.columns, shifts ? shift : b + place, stride,
        std::max<std::int64_t>(0, whole - row), first, second, count);
    if (whole < end) {
      const std::int64_t last = whole * blocks.columns;
      sum(x + last, 0, shifts ? shift : b + last, 0, 1, first, second,
          view.outer * view.extent - last);
    }
    float* result = results + block * 2 * view.extent;
    const std::int64_t channels = std::min(count, view.extent);
    add_repeats(first, view.extent, count);
    add_repeats(second, view.extent, count);
    std::copy_n(first, channels, result + begin);
    std::copy_n(second, channels, result + view.extent + begin);
  }

  /// Stores the sums of a channel.
  void store_sums(std::int64_t channel, const double (&totals)[2]) const {
    float* to = y + channel;
    if constexpr (shifts) {
      const auto count = static_cast<double>(view.outer * view.inner);
      *to = static_cast<float>(totals[0] + count * static_cast<double>(b[channel]));
      to += view.extent;
    }
    to[0] = static_cast<float>(totals[0]);
    to[view.extent] = static_cast<float>(totals[1]);
  }

  /// Channels last.
  void sum_rows() const {
    const Blocks blocks(view);
    for_each_task(blocks.count * blocks.parts, view.outer * view.extent,
                  [&](std::int64_t task) { sum_block(blocks, task); });
    for (std::int64_t channel = 0; channel < view.extent; ++channel) {
      double totals[2] = {0, 0};
      for (std::int64_t block = 0; block < blocks.count; ++block) {
        const float* result = results + block * 2 * view.extent + channel;
        totals[0] += static_cast<double>(result[0]);
        totals[1] += static_cast<double>(result[view.extent]);
      }
      store_sums(channel, totals);
    }
  }

  /// One channel, whose elements stand in runs.
  void sum_runs(std::int64_t channel) const {
    double totals[2] = {0, 0};
    const std::int64_t stride = view.extent * view.inner;
    for (std::int64_t begin = 0; begin < view.inner; begin += kPart) {
      const std::int64_t count = std::min(kPart, view.inner - begin);
      float first[kPart] = {}, second[kPart] = {};
      B shift[kPart];
      if (shifts) std::fill_n(shift, count, b[channel]);
      const std::int64_t place = channel * view.inner + begin;
      sum(x + place, stride, shifts ? shift : b + place, shifts ? 0 : stride, view.outer, first,
          second, count);
      for (std::int64_t i = 0; i < count; ++i) {
        totals[0] += static_cast<double>(first[i]);
        totals[1] += static_cast<double>(second[i]);
      }
    }
    store_sums(channel, totals);
  }

  void operator()() const {
    if (view.inner == 1) return sum_rows();
    for_each_task(view.extent, view.outer * view.extent * view.inner,
                  [&](std::int64_t channel) { sum_runs(channel); });
  }
};

AxisView view_of(const KernelArgs& args) {
  return around_axis(args.inputs[0].type.shape, args.attrs.integer("axis"));
}

template <class Terms, class X>
Launch bind_sums_of(const KernelArgs& args) {
  const AxisView view = view_of(args);
  float* const y = args.output.as<float>();
  if (view.outer * view.extent * view.inner == 0) {
    return [y, count = num_elements(args.output.type.shape)] { std::fill_n(y, count, 0.0F); };
  }
  return Sums<Terms, X>{view, args.inputs[0].as<X>(), args.inputs[1].as<Beside<Terms, X>>(), y,
                        reinterpret_cast<float*>(args.workspace)};
}

template <class Terms>
Launch bind_sums(const KernelArgs& args) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  return with_float(args.inputs[0].type.dtype,
                    [&](auto x) { return bind_sums_of<Terms, decltype(x)>(args); });
}

/// y = x scale + offset, of rows of contiguous elements.
template <class T>
struct ScaleRowsLoop {
  [[gnu::always_inline]] static void run(const T* x, const float* scale, const float* offset, T* y,
                                         std::int64_t rows, std::int64_t columns) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* x_row = x + row * columns;
      T* y_row = y + row * columns;
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) {
        store(y_row[c], computed(x_row[c]) * scale[c] + offset[c]);
      }
    }
  }
};

template <class T>
struct ScaleRunLoop {
  [[gnu::always_inline]] static void run(const T* x, float scale, float offset, T* y,
                                         std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      store(y[i], computed(x[i]) * scale + offset);
    }
  }
};

template <class T>
struct Scale {
  AxisView view;
  const T* x;
  const float *scale, *offset;
  T* y;
  decltype(vectorized<ScaleRowsLoop<T>>()) scale_rows = vectorized<ScaleRowsLoop<T>>();
  decltype(vectorized<ScaleRunLoop<T>>()) scale_run = vectorized<ScaleRunLoop<T>>();

  /// Elements from `begin` to `end`, which are whole rows of channels: several together.
  void rows(std::int64_t begin, std::int64_t end) const {
    const std::int64_t channels = view.extent;
    if (channels >= kWide) {
      return scale_rows(x + begin, scale, offset, y + begin, (end - begin) / channels, channels);
    }
    float scales[kWide], offsets[kWide];
    const std::int64_t columns = kWide / channels * channels;
    repeat(scale, channels, scales, columns);
    repeat(offset, channels, offsets, columns);
    const std::int64_t whole = (end - begin) / columns;
    scale_rows(x + begin, scales, offsets, y + begin, whole, columns);
    const std::int64_t last = begin + whole * columns;
    if (last < end) scale_rows(x + last, scales, offsets, y + last, 1, end - last);
  }

  void operator()() const {
    const std::int64_t elements = view.outer * view.extent * view.inner;
    if (elements == 0) return;
    if (view.inner == 1) {
      const std::int64_t task_elements =
          std::max<std::int64_t>(1, kTaskElements / view.extent) * view.extent;
      for_each_task(ceil_divide(elements, task_elements), elements, [&](std::int64_t task) {
        rows(task * task_elements, std::min(elements, (task + 1) * task_elements));
      });
    } else {
      for_each_task(view.outer * view.extent, elements, [&](std::int64_t run) {
        const std::int64_t place = run * view.inner, c = run % view.extent;
        scale_run(x + place, scale[c], offset[c], y + place, view.inner);
      });
    }
  }
};

template <class T>
Launch bind_scale(const KernelArgs& args) {
  return Scale<T>{view_of(args), args.inputs[0].as<T>(), args.inputs[1].as<float>(),
                  args.inputs[2].as<float>(), args.output.as<T>()};
}

}  // namespace

Launch shifted_sums(const KernelArgs& args) { return bind_sums<Moments>(args); }

Launch scale_offset_sums(const KernelArgs& args) { return bind_sums<Products>(args); }

std::int64_t channel_sums_workspace(const KernelArgs& args) {
  const AxisView view = view_of(args);
  if (view.inner != 1 || view.outer * view.extent == 0) return 0;
  return Blocks(view).count * 2 * view.extent * static_cast<std::int64_t>(sizeof(float));
}

Launch scale_offset(const KernelArgs& args) {
  return with_float(args.output.type.dtype, [&](auto x) { return bind_scale<decltype(x)>(args); });
}

}  // namespace meshwork::cpu
