#include "backend/cuda/reductions/fold.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>
#include <utility>

#include "backend/cuda/beside.h"
#include "backend/cuda/reductions/pack.h"
#include "backend/cuda/reductions/reduce_plan.h"
#include "backend/cuda/reductions/walk.h"
#include "backend/cuda/team.h"
#include "backend/in_turn.h"

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

DEVICE float scaled(float a, float factor) { return a * factor; }
DEVICE int32 scaled(int32 a, float factor) { return a; }
DEVICE int64 scaled(int64 a, float factor) { return a; }

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

struct Call {
  const X* x;
  Y* y;
  Plan plan;
  float factor;
};
struct Calls {
  Call at[CALLS];
  uint32 ends[CALLS];  // of the blocks of each, one call behind the other
};

// y [kept, parts, columns]
DEVICE void fold_columns(Y* y, const X* x, const Plan& plan, float factor, int64 block) {
  const Place place = place_in_columns(plan, block);
  Numbers numbers = Op::nothing();
  if (place.mine) {
    numbers = walk<Op>(plan, place, place.column, [&](int64 at) { return numbers_at(x + at); });
  }
  numbers = fold_side_by_side<Op>(place.team, numbers);
  if (!place.mine || place.team.lane != 0) return;
  Pack<Y, V> pack;
  for (int32 i = 0; i < V; ++i) store(pack.at[i], scaled(numbers.at[i], factor));
  const int64 row = place.outer * plan.parts + place.part;
  store(y + (row * plan.columns + place.column) * V, pack);
}

// y [kept, parts]
DEVICE void fold_lines(Y* y, const X* x, const Plan& plan, float factor, int64 block) {
  const Place place = place_in_lines(plan, block);
  const Numbers numbers =
      walk_line<Op>(plan, place, [&](int64 at) { return numbers_at(x + at); });
  SUM number = numbers.at[0];
  for (int32 i = 1; i < V; ++i) number = Op::fold(number, numbers.at[i]);
  number = fold_neighbours<Op>(place.team, number);
  if (!place.mine || place.team.lane != 0) return;
  store(y[place.result * plan.parts + place.part], scaled(number, factor));
}

KERNEL(fold_calls, const __grid_constant__ Calls calls) {
  const uint32 number = find_task(calls.ends);
  const Call& call = calls.at[number];
  const int64 block = blockIdx.x - (number == 0 ? 0 : calls.ends[number - 1]);
  WAY(call.y, call.x, call.plan, call.factor, block);
}
)cuda";

/// One pass over x to y.
struct Pass {
  struct Call {  ///< the kernels have the same
    const std::byte* x;
    std::byte* y;
    ReducePlan plan;
    float factor;
  } call;
  Source source;
  Grid grid;
};
constexpr std::size_t kMostCalls =
    std::bit_floor(kParameterBytes / (sizeof(Pass::Call) + sizeof(std::uint32_t)));

Pass pass_of(const TensorView& x, const TensorView& y, const Fold& fold, const Reduction& reduction,
             float factor) {
  const std::string defines = define("X", x.type.dtype) + define("Y", y.type.dtype) +
                              define("SUM", sum_dtype(x.type.dtype)) + define("V", reduction.pack) +
                              "#define WAY " + std::string(reduction.name) + "\n" + fold.defines;
  std::string text(kTeamText);
  text.append(kStoreText).append(kWalkText).append(kBesideText).append(kText);
  return {{x.data, y.data, reduction.plan, factor}, {fold.name, text, defines}, reduction.grid};
}

/// A tensor [outer, parts, columns] of results of parts, which are folded over the second axis.
TensorView parts_of(const FoldCall& call, const Reduction& reduction) {
  const std::int64_t columns =
      reduction.keeps_columns ? reduction.plan.columns * reduction.pack : 1;
  const std::int64_t outer = num_elements(call.y.type.shape) / columns;
  TensorView parts = call.y;
  parts.type = {sum_dtype(call.x.type.dtype), {outer, reduction.plan.parts, columns}};
  parts.data = call.scratch;
  return parts;
}

/// Adds the pass over x, and where it gives parts the one over these.
void add_passes(const FoldCall& call, std::vector<Pass>& first, std::vector<Pass>& second) {
  if (num_elements(call.y.type.shape) == 0) return;
  const Shape& shape = call.x.type.shape;
  const std::int64_t parts = reduction_parts(shape, call.axes, call.x.type.dtype);
  const int pack = pack_width(reduction_columns(shape, call.axes), {&call.x, &call.y});
  const Reduction whole = plan_reduction(shape, call.axes, pack, parts);
  if (whole.plan.parts == 1) {
    return first.push_back(pass_of(call.x, call.y, call.fold, whole, call.factor));
  }
  const TensorView middle = parts_of(call, whole);
  const int narrow = pack_width(middle.type.shape.back(), {&middle, &call.y});
  const Reduction last = plan_reduction(middle.type.shape, {1}, narrow, 1);
  first.push_back(pass_of(call.x, middle, call.fold, whole, 1));
  second.push_back(pass_of(middle, call.y, call.of_parts, last, call.factor));
}

/// What the kernels call Calls: passes of one source, and nothing up to a power of two.
std::vector<std::byte> parameters_of(std::span<const Pass> passes, std::uint32_t& blocks) {
  const std::size_t count = std::bit_ceil(passes.size());
  std::vector<Pass::Call> calls;
  std::vector<std::uint32_t> ends;
  blocks = 0;
  for (const Pass& pass : passes) {
    calls.push_back(pass.call);
    ends.push_back(blocks += static_cast<std::uint32_t>(pass.grid.blocks));
  }
  calls.resize(count, passes.back().call);
  ends.resize((count + 1) / 2 * 2, blocks);
  std::vector<std::byte> bytes;
  for (const auto& part : {std::as_bytes(std::span(calls)), std::as_bytes(std::span(ends))}) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

Launch one_launch(std::span<const Pass> passes, CudaStream& stream) {
  Source source = passes.front().source;
  source.defines += define("CALLS", static_cast<std::int64_t>(std::bit_ceil(passes.size())));
  std::uint32_t blocks = 0;
  std::vector<std::byte> bytes = parameters_of(passes, blocks);
  if (blocks == 0) return [] {};
  const Grid grid{blocks, passes.front().grid.threads};
  const Function function = stream.gpu().function(source, "fold_calls");
  return [&stream, function, grid, bytes = std::move(bytes)]() mutable {
    void* all = bytes.data();
    stream.launch(function.handle(), grid, &all);
  };
}

void add_launches(const std::vector<Pass>& passes, CudaStream& stream,
                  std::vector<Launch>& launches) {
  std::map<std::pair<std::string, int>, std::vector<Pass>> alike;
  for (const Pass& pass : passes) {
    alike[{pass.source.defines, pass.grid.threads}].push_back(pass);
  }
  for (const auto& [source, all] : alike) {
    for (std::size_t begin = 0; begin < all.size(); begin += kMostCalls) {
      const auto part = std::span(all).subspan(begin, std::min(kMostCalls, all.size() - begin));
      launches.push_back(one_launch(part, stream));
    }
  }
}

}  // namespace

Fold sum() { return {"reduce_sum", "#define READ\n#define FOLD added\n#define NOTHING 0\n"}; }

std::int64_t fold_scratch(const TensorView& x, const std::vector<std::int64_t>& axes,
                          std::int64_t results) {
  const std::int64_t parts = reduction_parts(x.type.shape, axes, x.type.dtype);
  const auto size = static_cast<std::int64_t>(size_of(sum_dtype(x.type.dtype)));
  return parts == 1 ? 0 : parts * results * size;
}

Launch bind_folds(std::span<const FoldCall> calls, CudaStream& stream) {
  std::vector<Pass> first, second;
  for (const FoldCall& call : calls) add_passes(call, first, second);
  std::vector<Launch> launches;
  add_launches(first, stream, launches);
  add_launches(second, stream, launches);
  return in_turn(std::move(launches));
}

}  // namespace meshwork::cuda
