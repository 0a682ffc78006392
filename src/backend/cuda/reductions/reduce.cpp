// y = the sum, the sum of squares or the maximum of x over `axes`; floats of 16 bits are added up
// in float32 and rounded once
#include <fmt/format.h>

#include <string>

#include "backend/cuda/reductions/kernels.h"
#include "backend/cuda/reductions/pack.h"
#include "backend/cuda/reductions/reduce_plan.h"
#include "backend/cuda/reductions/walk.h"
#include "backend/cuda/team.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kText = R"cuda(
struct Numbers {
  SUM at[V];
};

// Whole numbers wrap around.
DEVICE float added(float a, float b) { return a + b; }
DEVICE int32 added(int32 a, int32 b) { return (int32)((uint32)a + (uint32)b); }
DEVICE int64 added(int64 a, int64 b) { return (int64)((uint64)a + (uint64)b); }

template <class Number>
DEVICE Number squared(Number a) { return a * a; }

// NaN if either is.
DEVICE SUM greatest(SUM a, SUM b) { return a != a || a > b ? a : b; }

struct Op {
  typedef Numbers Number;
  DEVICE SUM fold(SUM a, SUM b) { return FOLD(a, b); }
  DEVICE Numbers fold(const Numbers& a, const Numbers& b) {
    Numbers y;
    for (int32 i = 0; i < V; ++i) y.at[i] = FOLD(a.at[i], b.at[i]);
    return y;
  }
  DEVICE Numbers nothing() {
    Numbers y;
    for (int32 i = 0; i < V; ++i) y.at[i] = NOTHING;
    return y;
  }
};

DEVICE Numbers numbers_at(const X* x) {
  const Pack<X, V> pack = load<V>(x);
  Numbers y;
  for (int32 i = 0; i < V; ++i) y.at[i] = READ(computed(pack.at[i]));
  return y;
}

// y [kept, parts, columns]
KERNEL(fold_columns, Y* y, const X* x, Plan plan) {
  const Place place = place_in_columns(plan);
  Numbers numbers = Op::nothing();
  if (place.mine) {
    numbers = walk<Op>(plan, place, place.column, [&](int64 at) { return numbers_at(x + at); });
  }
  numbers = fold_side_by_side<Op>(place.team, numbers);
  if (!place.mine || place.team.lane != 0) return;
  Pack<Y, V> pack;
  for (int32 i = 0; i < V; ++i) store(pack.at[i], numbers.at[i]);
  const int64 row = place.outer * plan.parts + place.part;
  store(y + (row * plan.columns + place.column) * V, pack);
}

// y [kept, parts]
KERNEL(fold_lines, Y* y, const X* x, Plan plan) {
  const Place place = place_in_lines(plan);
  const Numbers numbers =
      walk_line<Op>(plan, place, [&](int64 at) { return numbers_at(x + at); });
  SUM number = numbers.at[0];
  for (int32 i = 1; i < V; ++i) number = Op::fold(number, numbers.at[i]);
  number = fold_neighbours<Op>(place.team, number);
  if (place.mine && place.team.lane == 0) store(y[place.result * plan.parts + place.part], number);
}
)cuda";

struct Fold {
  const char* name;
  std::string defines;  ///< FOLD and NOTHING; READ: what is folded for each element
};

Fold sum_of() { return {"reduce_sum", "#define READ\n#define FOLD added\n#define NOTHING 0\n"}; }

Fold sum_of_squares_of() {
  return {"sum_of_squares", "#define READ squared\n#define FOLD added\n#define NOTHING 0\n"};
}

Fold max_of(DType dtype) {
  const char* const least = dtype == DType::kInt32   ? "(-2147483647 - 1)"
                            : dtype == DType::kInt64 ? "(-9223372036854775807LL - 1)"
                                                     : "-MW_INFINITY";
  return {"reduce_max",
          fmt::format("#define READ\n#define FOLD greatest\n#define NOTHING {}\n", least)};
}

/// One pass over x, of a dtype, to y.
Launch pass(const KernelArgs& args, const Fold& fold, const Reduction& reduction,
            const TensorView& x, const TensorView& y) {
  const std::string defines = define("X", x.type.dtype) + define("Y", y.type.dtype) +
                              define("SUM", sum_dtype(x.type.dtype)) + define("V", reduction.pack) +
                              fold.defines;
  std::string text(kTeamText);
  text.append(kStoreText).append(kWalkText).append(kText);
  return kernel_launch(stream_of(args), {fold.name, text, defines}, std::string(reduction.name),
                       reduction.grid, y.data, x.data, reduction.plan);
}

/// A tensor [outer, parts, columns] of results of parts, which are folded over the second axis.
TensorView parts_of(const KernelArgs& args, const Reduction& reduction) {
  const std::int64_t columns =
      reduction.keeps_columns ? reduction.plan.columns * reduction.pack : 1;
  const std::int64_t outer = num_elements(args.output.type.shape) / columns;
  TensorView parts = args.output;
  parts.type = {sum_dtype(args.inputs[0].type.dtype), {outer, reduction.plan.parts, columns}};
  parts.data = args.workspace;
  return parts;
}

/// `of_parts` folds the results of parts.
Launch reduce(const KernelArgs& args, const Fold& fold, const Fold& of_parts) {
  if (num_elements(args.output.type.shape) == 0) return [] {};
  const TensorView &x = args.inputs[0], &y = args.output;
  const auto& axes = args.attrs.integers("axes");
  const std::int64_t parts = reduction_parts(x.type.shape, axes, x.type.dtype);
  const std::int64_t columns = reduction_columns(x.type.shape, axes);
  const int pack = pack_width(columns, {&x, &y});
  const Reduction whole = plan_reduction(x.type.shape, axes, pack, parts);
  if (whole.plan.parts == 1) return pass(args, fold, whole, x, y);
  const TensorView middle = parts_of(args, whole);
  const int narrow = pack_width(middle.type.shape.back(), {&middle, &y});
  const Reduction last = plan_reduction(middle.type.shape, {1}, narrow, 1);
  return
      [first = pass(args, fold, whole, x, middle), second = pass(args, of_parts, last, middle, y)] {
        first();
        second();
      };
}

}  // namespace

std::int64_t reduce_workspace(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const std::int64_t parts =
      reduction_parts(x.type.shape, args.attrs.integers("axes"), x.type.dtype);
  const auto size = static_cast<std::int64_t>(size_of(sum_dtype(x.type.dtype)));
  return parts == 1 ? 0 : parts * num_elements(args.output.type.shape) * size;
}

Launch reduce_sum(const KernelArgs& args) { return reduce(args, sum_of(), sum_of()); }

Launch sum_of_squares(const KernelArgs& args) {
  return reduce(args, sum_of_squares_of(), sum_of());
}

Launch reduce_max(const KernelArgs& args) {
  const Fold max = max_of(args.inputs[0].type.dtype);
  return reduce(args, max, max);
}

}  // namespace meshwork::cuda
