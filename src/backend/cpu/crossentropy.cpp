// crossentropy:          y[..] = log sum exp x - x[.., label[..]]
// crossentropy_gradient: dx[.., c] = d (1 where c = label[..], else 0, minus softmax x[.., c])
//
// The same operations on each element, in the same order, as those of log_softmax, pick and the
// gradient of both: the same bits.
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/softmax_lines.h"
#include "backend/cpu/store.h"
#include "backend/types.h"
#include "base/parallel.h"
#include "base/rounded_up.h"
#include "elementwise/arithmetic.h"

namespace meshwork::cpu {
namespace {

/// Labels of lines: of one, or of several that are cached together.
struct Labels {
  const std::int32_t* labels;
  std::int64_t rows, extent;

  [[gnu::always_inline]] bool is_hit(std::int64_t row) const {
    return labels[row] >= 0 && labels[row] < extent;
  }
};

/// The same with their contiguous logits.
template <class X>
struct Lines : Labels {
  const X* x;
};

/// x - max x, and log sum exp of that, of lines that are cached.
struct Cached {
  float shifted[kCached];
  float exponentials[kCached];
  float logs[kCached];
};

template <class X>
struct Fill {
  [[gnu::always_inline]] static void run(Lines<X> lines, Cached& cached) {
    const std::int64_t extent = lines.extent;
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      subtract_max(lines.x + r * extent, cached.shifted + r * extent, extent);
    }
    exponentiate(cached.shifted, cached.exponentials, lines.rows * extent);
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      cached.logs[r] = fold_lanes<elementwise::Add>(cached.exponentials + r * extent, extent);
    }
#pragma omp simd
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      cached.logs[r] = elementwise::Log::apply(cached.logs[r]);
    }
  }
};

/// The softmax of lines that are cached takes the place of their exponentials.
struct Normalize {
  [[gnu::always_inline]] static void run(Cached& cached, std::int64_t rows, std::int64_t extent) {
    for (std::int64_t r = 0; r < rows; ++r) {
      float* line = cached.shifted + r * extent;
      const float log = cached.logs[r];
#pragma omp simd
      for (std::int64_t i = 0; i < extent; ++i) line[i] -= log;
    }
    exponentiate(cached.shifted, cached.exponentials, rows * extent);
  }
};

/// max x, and log sum exp(x - max x).
struct Extremes {
  float max, log;
};

/// Of a line that is longer than the cache.
template <class X>
struct Measure {
  [[gnu::always_inline]] static void run(const X* x, std::int64_t extent, Extremes& of) {
    of.max = fold_lanes<elementwise::Maximum>(x, extent);
    float part[kCached];
    float sum = 0;
    for (std::int64_t begin = 0; begin < extent; begin += kCached) {
      const std::int64_t count = std::min(kCached, extent - begin);
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i)
        part[i] = elementwise::Exp::apply(computed(x[begin + i]) - of.max);
      const float folded = fold_lanes<elementwise::Add>(part, count);
      sum = begin == 0 ? folded : sum + folded;
    }
    of.log = elementwise::Log::apply(sum);
  }
};

template <class X>
class Loss {
 public:
  void operator()(const Lines<X>& lines, float* y) const {
    if (lines.extent > kCached) {
      Extremes of;
      measure_(lines.x, lines.extent, of);
      *y = lines.is_hit(0) ? -((computed(lines.x[*lines.labels]) - of.max) - of.log) : 0.0F;
      return;
    }
    Cached cached;
    fill_(lines, cached);
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      const float* shifted = cached.shifted + r * lines.extent;
      y[r] = lines.is_hit(r) ? -(shifted[lines.labels[r]] - cached.logs[r]) : 0.0F;
    }
  }

 private:
  void (*fill_)(Lines<X>, Cached&) = vectorized<Fill<X>>();
  void (*measure_)(const X*, std::int64_t, Extremes&) = vectorized<Measure<X>>();
};

/// d of each line, or one number for all.
struct Slopes {
  const float* d;
  float number;

  [[gnu::always_inline]] float operator[](std::int64_t row) const {
    return d == nullptr ? number : d[row];
  }
  Slopes from(std::int64_t row) const { return {d == nullptr ? nullptr : d + row, number}; }
};

[[gnu::always_inline]] inline float share(float x, const Extremes& of) {
  return elementwise::Exp::apply((x - of.max) - of.log);
}

/// y = -(softmax x) factor of a line that is longer than the cache.
template <class X, class Y>
struct WriteLong {
  [[gnu::always_inline]] static void run(const X* x, Extremes of, float factor, Y* y,
                                         std::int64_t extent) {
#pragma omp simd
    for (std::int64_t i = 0; i < extent; ++i) store(y[i], -(share(computed(x[i]), of) * factor));
  }
};

/// From the softmax of lines that are cached.
template <class Y>
struct Write {
  [[gnu::always_inline]] static void run(const float* softmax, Labels lines, Slopes d, Y* y) {
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      const float target = d[r];
      const float factor = lines.is_hit(r) ? target : 0.0F;
      const float* shares = softmax + r * lines.extent;
      Y* line = y + r * lines.extent;
#pragma omp simd
      for (std::int64_t i = 0; i < lines.extent; ++i) store(line[i], -(shares[i] * factor));
      if (!lines.is_hit(r)) continue;
      const std::int32_t label = lines.labels[r];
      store(line[label], -(shares[label] * factor) + target);
    }
  }
};

/// y may be x, and d where lines have one element.
template <class X, class Y>
class Gradient {
 public:
  void operator()(const Lines<X>& lines, const Slopes& d, Y* y) const {
    if (lines.extent > kCached) return long_line(lines, d[0], y);
    Cached cached;
    fill_(lines, cached);
    normalize_(cached, lines.rows, lines.extent);
    write_(cached.exponentials, lines, d, y);
  }

 private:
  void long_line(const Lines<X>& lines, float slope, Y* y) const {
    Extremes of;
    measure_(lines.x, lines.extent, of);
    const bool is_hit = lines.is_hit(0);
    const float factor = is_hit ? slope : 0.0F;
    const float hit =
        is_hit ? -(share(computed(lines.x[*lines.labels]), of) * factor) + slope : 0.0F;
    write_long_(lines.x, of, factor, y, lines.extent);
    if (is_hit) store(y[*lines.labels], hit);
  }

  void (*fill_)(Lines<X>, Cached&) = vectorized<Fill<X>>();
  void (*normalize_)(Cached&, std::int64_t, std::int64_t) = vectorized<Normalize>();
  void (*write_)(const float*, Labels, Slopes, Y*) = vectorized<Write<Y>>();
  void (*measure_)(const X*, std::int64_t, Extremes&) = vectorized<Measure<X>>();
  void (*write_long_)(const X*, Extremes, float, Y*, std::int64_t) = vectorized<WriteLong<X, Y>>();
};

/// body(lines, first row) for all lines, in groups that are cached.
template <class X, class Body>
Launch for_each_group(const KernelArgs& args, const Body& body) {
  const auto* x = args.inputs[0].as<X>();
  const auto* labels = args.inputs[1].as<std::int32_t>();
  const std::int64_t extent = args.inputs[0].type.shape.back();
  const std::int64_t rows = num_elements(args.inputs[1].type.shape);
  const std::int64_t group = std::max<std::int64_t>(1, kCached / std::max<std::int64_t>(1, extent));
  return [=] {
    for_each_task(ceil_divide(rows, group), rows * extent, [&](std::int64_t task) {
      const std::int64_t begin = task * group;
      body(Lines<X>{{labels + begin, std::min(group, rows - begin), extent}, x + begin * extent},
           begin);
    });
  };
}

}  // namespace

Launch crossentropy(const KernelArgs& args) {
  auto* y = args.output.as<float>();
  if (args.inputs[0].type.shape.back() == 0) {
    return [y, bytes = num_bytes(args.output.type)] {
      set_zero(reinterpret_cast<std::byte*>(y), bytes);
    };
  }
  return with_float(args.inputs[0].type.dtype, [&](auto logit) {
    using X = decltype(logit);
    return for_each_group<X>(args, [y, run = Loss<X>()](const Lines<X>& lines, std::int64_t row) {
      run(lines, y + row);
    });
  });
}

Launch crossentropy_gradient(const KernelArgs& args) {
  if (num_elements(args.output.type.shape) == 0) return [] {};
  const bool is_number = args.inputs.size() == 2;
  const Slopes d{is_number ? nullptr : args.inputs[2].as<float>(),
                 is_number ? static_cast<float>(args.attrs.real("d")) : 0};
  return with_float(args.inputs[0].type.dtype, [&](auto logit) {
    return with_float(args.output.type.dtype, [&](auto number) {
      using X = decltype(logit);
      using Y = decltype(number);
      return for_each_group<X>(args, [d, y = args.output.as<Y>(), run = Gradient<X, Y>()](
                                         const Lines<X>& lines, std::int64_t row) {
        run(lines, d.from(row), y + row * lines.extent);
      });
    });
  });
}

}  // namespace meshwork::cpu
