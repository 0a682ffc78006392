// y = the sum, the sum of squares or the maximum of x over `axes`
#include <algorithm>
#include <limits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/reduce_plan.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/widen.h"
#include "backend/types.h"
#include "base/parallel.h"
#include "base/rounded_up.h"
#include "elementwise/arithmetic.h"
#include "elementwise/comparison.h"

namespace meshwork::cpu {
namespace {

/// A float32 that is read as its square.
struct Squared {
  explicit operator float() const { return elementwise::Square::apply(x); }
  float x;
};

/// y[c] = fold of x[c], x[stride + c], .., `rows` >= 1 of them.
template <class Op, class From, class T>
struct FoldRowsLoop {
  [[gnu::always_inline]] static void run(const From* x, std::int64_t stride, std::int64_t rows,
                                         T* y, std::int64_t columns) {
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) y[c] = computed(x[c]);
    std::int64_t row = 1;
    for (; row + 4 <= rows; row += 4) {
      const From *x0 = x + row * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) {
        const T first = Op::apply(computed(x0[c]), computed(x1[c]));
        const T second = Op::apply(computed(x2[c]), computed(x3[c]));
        y[c] = Op::apply(y[c], Op::apply(first, second));
      }
    }
    for (; row < rows; ++row) {
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) {
        y[c] = Op::apply(y[c], computed(x[row * stride + c]));
      }
    }
  }
};

/// y[c] = Op(y[c], x[c]).
template <class Op, class T>
struct FoldIntoLoop {
  [[gnu::always_inline]] static void run(const T* x, T* y, std::int64_t columns) {
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) y[c] = Op::apply(y[c], x[c]);
  }
};

template <class Op, class From, class T>
struct FoldColumnsLoop {
  [[gnu::always_inline]] static void run(const From* x, std::int64_t count, T* y) {
    *y = fold_lanes<Op, From>(x, count);
  }
};

/// All that a launch needs; `results` is [kept, blocks, width], and is y where there is one block.
template <class Op, class From>
struct Fold {
  using T = Computed<From>;

  ReducePlan plan;
  const From* x;
  T* y;
  T* results;
  decltype(vectorized<FoldRowsLoop<Op, From, T>>()) rows = vectorized<FoldRowsLoop<Op, From, T>>();
  decltype(vectorized<FoldRowsLoop<Op, T, T>>()) blocks = vectorized<FoldRowsLoop<Op, T, T>>();
  decltype(vectorized<FoldIntoLoop<Op, T>>()) into = vectorized<FoldIntoLoop<Op, T>>();
  decltype(vectorized<FoldColumnsLoop<Op, From, T>>()) columns =
      vectorized<FoldColumnsLoop<Op, From, T>>();

  /// Columns are kept. Task: (p, block, part of the columns).
  void fold_rows(std::int64_t task) const {
    const std::int64_t begin = task % plan.parts * plan.part;
    const std::int64_t count = std::min(plan.part, plan.columns - begin);
    const std::int64_t place = task / plan.parts;  // p * blocks + block
    const std::int64_t p = place / plan.blocks;
    std::int64_t q = place % plan.blocks * plan.block;
    const std::int64_t end = std::min(q + plan.block, plan.reduced);
    T* result = results + place * plan.columns + begin;
    // Rows at one distance are folded together: along the last of the reduced dimensions.
    const std::int64_t run = plan.reduced_extents.empty() ? 1 : plan.reduced_extents.back();
    const std::int64_t stride = plan.reduced_strides.empty() ? 0 : plan.reduced_strides.back();
    T part[kKeptPart];
    for (bool first = true; q < end; first = false) {
      const std::int64_t together = std::min(end - q, run - q % run);
      rows(x + plan.row(p, q) + begin, stride, together, first ? result : part, count);
      if (!first) into(part, result, count);
      q += together;
    }
  }

  /// Columns are reduced. Task: (p, block).
  void fold_columns(std::int64_t task) const {
    const std::int64_t p = task / plan.blocks;
    const std::int64_t first = task % plan.blocks * plan.block;
    const std::int64_t end = std::min(first + plan.block, plan.reduced * plan.parts);
    T result{};
    for (std::int64_t unit = first; unit < end; ++unit) {
      const std::int64_t begin = unit % plan.parts * plan.part;
      T folded;
      columns(x + plan.row(p, unit / plan.parts) + begin, std::min(plan.part, plan.columns - begin),
              &folded);
      result = unit == first ? folded : Op::apply(result, folded);
    }
    results[task] = result;
  }

  void fold_blocks(std::int64_t p) const {
    const std::int64_t width = plan.width();
    blocks(results + p * plan.blocks * width, width, plan.blocks, y + p * width, width);
  }

  void operator()() const {
    if (plan.reduces_columns) {
      // Few elements make a poor task: several p together.
      const std::int64_t group =
          std::max<std::int64_t>(1, kTaskElements / (plan.reduced * plan.columns));
      const std::int64_t tasks = plan.kept * plan.blocks;
      for_each_task(ceil_divide(tasks, group), plan.elements(), [&](std::int64_t g) {
        const std::int64_t end = std::min(tasks, (g + 1) * group);
        for (std::int64_t task = g * group; task < end; ++task) fold_columns(task);
      });
    } else {
      for_each_task(plan.kept * plan.blocks * plan.parts, plan.elements(),
                    [&](std::int64_t task) { fold_rows(task); });
    }
    if (plan.blocks > 1) {
      for_each_task(plan.kept, plan.kept * plan.blocks * plan.width(),
                    [&](std::int64_t p) { fold_blocks(p); });
    }
  }
};

/// `nothing` is the result of folding no elements.
template <class Op, class From>
Launch bind(const KernelArgs& args, Computed<From> nothing) {
  using T = Computed<From>;
  const TensorView &x = args.inputs[0], &y = args.output;
  const std::int64_t outputs = num_elements(y.type.shape);
  if (outputs == 0) return [] {};
  if (num_elements(x.type.shape) == 0) {
    return [y = y.as<T>(), outputs, nothing] { std::fill_n(y, outputs, nothing); };
  }
  const ReducePlan plan = plan_reduce(x.type.shape, args.attrs.integers("axes"));
  T* results = plan.blocks > 1 ? reinterpret_cast<T*>(args.workspace) : y.as<T>();
  return Fold<Op, From>{plan, x.as<From>(), y.as<T>(), results};
}

Launch sum(const KernelArgs& args) {
  const DType dtype = args.inputs[0].type.dtype;
  if (is_narrow_float(dtype)) {
    return with_narrow(dtype, [&](auto x) { return bind<elementwise::Add, decltype(x)>(args, 0); });
  }
  return with_number(dtype,
                     [&](auto zero) { return bind<elementwise::Add, decltype(zero)>(args, zero); });
}

Launch max(const KernelArgs& args) {
  const DType dtype = args.inputs[0].type.dtype;
  if (is_narrow_float(dtype)) {
    return with_narrow(dtype, [&](auto x) {
      constexpr float kNothing = -std::numeric_limits<float>::infinity();
      return bind<elementwise::Maximum, decltype(x)>(args, kNothing);
    });
  }
  return with_number(dtype, [&](auto number) {
    using T = decltype(number);
    using Limits = std::numeric_limits<T>;
    return bind<elementwise::Maximum, T>(
        args, Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
  });
}

std::int64_t fold_workspace(const KernelArgs& args) {
  const TensorType& x = args.inputs[0].type;
  if (num_elements(x.shape) == 0) return 0;
  const ReducePlan plan = plan_reduce(x.shape, args.attrs.integers("axes"));
  const std::int64_t results = plan.kept * plan.blocks * plan.width();
  const std::size_t size = std::max(size_of(x.dtype), sizeof(float));
  return plan.blocks > 1 ? results * static_cast<std::int64_t>(size) : 0;
}

}  // namespace

std::int64_t reduce_workspace(const KernelArgs& args) {
  return wide_result_workspace(args, fold_workspace);
}

Launch reduce_sum(const KernelArgs& args) { return bind_wide_result(args, sum); }

std::int64_t sum_of_squares_workspace(const KernelArgs& args) { return fold_workspace(args); }

Launch sum_of_squares(const KernelArgs& args) { return bind<elementwise::Add, Squared>(args, 0); }

Launch reduce_max(const KernelArgs& args) { return bind_wide_result(args, max); }

}  // namespace meshwork::cpu
