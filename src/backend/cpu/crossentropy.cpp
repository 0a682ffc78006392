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
#include "elementwise/arithmetic.h"

namespace meshwork::cpu {
namespace {

/// Lines of contiguous logits, each with its label: one line, or several that are cached together.
template <class X>
struct Lines {
  const X* x;
  const std::int32_t* labels;
  std::int64_t rows, extent;

  [[gnu::always_inline]] bool is_hit(std::int64_t row) const {
    return labels[row] >= 0 && labels[row] < extent;
  }
};

/// x - max x, and log sum exp of that, of lines that are cached.
struct Cached {
  float shifted[kCached];
  float exponentials[kCached];
  float logs[kCached];

  template <class X>
  [[gnu::always_inline]] void fill(const Lines<X>& lines) {
    const std::int64_t extent = lines.extent;
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      subtract_max(lines.x + r * extent, shifted + r * extent, extent);
    }
    exponentiate(shifted, exponentials, lines.rows * extent);
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      logs[r] = fold_lanes<elementwise::Add>(exponentials + r * extent, extent);
    }
#pragma omp simd
    for (std::int64_t r = 0; r < lines.rows; ++r) logs[r] = elementwise::Log::apply(logs[r]);
  }
};

/// log sum exp(x - max) of a line that is longer than the cache.
template <class X>
[[gnu::always_inline]] inline float long_log(const X* x, float max, std::int64_t extent) {
  float part[kCached];
  float sum = 0;
  for (std::int64_t begin = 0; begin < extent; begin += kCached) {
    const std::int64_t count = std::min(kCached, extent - begin);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i)
      part[i] = elementwise::Exp::apply(computed(x[begin + i]) - max);
    const float folded = fold_lanes<elementwise::Add>(part, count);
    sum = begin == 0 ? folded : sum + folded;
  }
  return elementwise::Log::apply(sum);
}

template <class X>
struct Loss {
  [[gnu::always_inline]] static void run(Lines<X> lines, float* y) {
    if (lines.extent > kCached) {
      const float max = fold_lanes<elementwise::Maximum>(lines.x, lines.extent);
      const float log = long_log(lines.x, max, lines.extent);
      *y = lines.is_hit(0) ? -((computed(lines.x[*lines.labels]) - max) - log) : 0.0F;
      return;
    }
    Cached cached;
    cached.fill(lines);
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      const float* shifted = cached.shifted + r * lines.extent;
      y[r] = lines.is_hit(r) ? -(shifted[lines.labels[r]] - cached.logs[r]) : 0.0F;
    }
  }
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

/// y may be x, and d where lines have one element.
template <class X, class Y>
struct Gradient {
  [[gnu::always_inline]] static void run(Lines<X> lines, Slopes d, Y* y) {
    const std::int64_t extent = lines.extent;
    if (extent > kCached) {
      const float max = fold_lanes<elementwise::Maximum>(lines.x, extent);
      const float log = long_log(lines.x, max, extent);
      const float slope = d[0], factor = lines.is_hit(0) ? slope : 0.0F;
      const auto part = [&](float x) {
        return -(elementwise::Exp::apply((x - max) - log) * factor);
      };
      const float hit = lines.is_hit(0) ? part(computed(lines.x[*lines.labels])) + slope : 0.0F;
#pragma omp simd
      for (std::int64_t i = 0; i < extent; ++i) store(y[i], part(computed(lines.x[i])));
      if (lines.is_hit(0)) store(y[*lines.labels], hit);
      return;
    }
    Cached cached;
    cached.fill(lines);
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      float* line = cached.shifted + r * extent;
      const float log = cached.logs[r];
#pragma omp simd
      for (std::int64_t i = 0; i < extent; ++i) line[i] -= log;
    }
    exponentiate(cached.shifted, cached.exponentials, lines.rows * extent);
    for (std::int64_t r = 0; r < lines.rows; ++r) {
      const float target = d[r];
      const float factor = lines.is_hit(r) ? target : 0.0F;
      const float* shares = cached.exponentials + r * extent;
      Y* line = y + r * extent;
#pragma omp simd
      for (std::int64_t i = 0; i < extent; ++i) store(line[i], -(shares[i] * factor));
      if (!lines.is_hit(r)) continue;
      const std::int32_t label = lines.labels[r];
      store(line[label], -(shares[label] * factor) + target);
    }
  }
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
      body(Lines<X>{x + begin * extent, labels + begin, std::min(group, rows - begin), extent},
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
    return for_each_group<X>(
        args, [y, run = vectorized<Loss<X>>()](const Lines<X>& lines, std::int64_t row) {
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
      return for_each_group<X>(args,
                               [d, y = args.output.as<Y>(), run = vectorized<Gradient<X, Y>>()](
                                   const Lines<X>& lines, std::int64_t row) {
                                 run(lines, d.from(row), y + row * lines.extent);
                               });
    });
  });
}

}  // namespace meshwork::cpu
