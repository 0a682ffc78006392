#include "backend/cuda/reductions/reduce_plan.h"

#include <algorithm>
#include <bit>

#include "backend/cuda/reductions/pack.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kFull = 1024;        ///< blocks that keep any GPU busy
constexpr std::int64_t kRowsOfThread = 16;  ///< at least, before a result is folded in parts
constexpr std::int64_t kPacksOfLane = 8;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t power_of_two_above(std::int64_t x) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(x, 1))));
}
std::int64_t power_of_two_below(std::int64_t x) {
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(x, 1))));
}

/// The tensor without dimensions of one, neighbours of a kind merged.
struct Rows {
  ReduceDims kept{}, reduced{};
  std::int64_t outer = 1;  ///< kept elements besides the columns
  std::int64_t rows = 1;   ///< reduced elements besides the columns
  std::int64_t columns = 1;
  bool keeps_columns = true;
};

struct MergedDim {
  std::int64_t extent, stride;
  bool reduced;
};

std::vector<MergedDim> merged_dims(const Shape& shape, const std::vector<std::int64_t>& axes) {
  const Shape strides = row_major_strides(shape);
  std::vector<MergedDim> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const bool reduced =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
    if (!dims.empty() && dims.back().reduced == reduced) {
      dims.back().extent *= shape[d];
      dims.back().stride = strides[d];
    } else {
      dims.push_back({shape[d], strides[d], reduced});
    }
  }
  return dims;
}

void append(ReduceDims& dims, std::int64_t extent, std::int64_t stride) {
  MW_CHECK(dims.count < ReduceDims::kMost, "a sum over more than {} separate axes",
           ReduceDims::kMost);
  dims.extent[dims.count] = extent;
  dims.stride[dims.count++] = stride;
}

Rows rows_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::vector<MergedDim> dims = merged_dims(shape, axes);
  Rows rows;
  if (!dims.empty()) {
    rows.columns = dims.back().extent;
    rows.keeps_columns = !dims.back().reduced;
    dims.pop_back();
  }
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    (dim->reduced ? rows.rows : rows.outer) *= dim->extent;
    append(dim->reduced ? rows.reduced : rows.kept, dim->extent, dim->stride);
  }
  return rows;
}

/// As many parts as keep the GPU busy where `blocks` work for whole results, of which `most` pay.
void split(ReducePlan& plan, std::int64_t blocks, std::int64_t most) {
  const std::int64_t wanted = std::min(ceil_divide(kFull, std::max<std::int64_t>(blocks, 1)), most);
  plan.parts = std::max<std::int64_t>(1, std::min(wanted, plan.rows));
}

/// Neighbouring threads take neighbouring packs of results.
void arrange_columns(ReducePlan& plan) {
  constexpr std::int64_t kFew = 64;
  const std::int64_t enough = power_of_two_below(plan.rows / 4);
  const std::int64_t fit =
      plan.results <= kFew ? power_of_two_below(kThreads / std::max<std::int64_t>(plan.results, 1))
                           : 8;
  plan.lanes = static_cast<std::int32_t>(std::min(enough, fit));
  plan.width =
      static_cast<std::int32_t>(plan.results <= kFew ? plan.results : kThreads / plan.lanes);
  const std::int64_t blocks = ceil_divide(plan.results, std::max(plan.width, 1));
  split(plan, blocks, plan.rows / (plan.lanes * kRowsOfThread));
}

/// Neighbouring threads take neighbouring packs of one result.
void arrange_lines(ReducePlan& plan) {
  const std::int64_t packs = plan.rows * plan.columns;
  const bool is_short = packs <= 32 * kPacksOfLane;
  const std::int64_t lanes =
      is_short ? std::min<std::int64_t>(32, power_of_two_above(ceil_divide(packs, kPacksOfLane)))
               : kThreads;
  plan.lanes = static_cast<std::int32_t>(lanes);
  plan.width = static_cast<std::int32_t>(std::min(lanes, power_of_two_above(plan.columns)));
  plan.parts = 1;
  if (!is_short) split(plan, plan.results, packs / (kThreads * kPacksOfLane));
}

ReducePlan arrange(const Rows& rows, int pack) {
  ReducePlan plan{};
  plan.kept = rows.kept;
  plan.reduced = rows.reduced;
  plan.columns = rows.columns / pack;
  plan.rows = rows.rows;
  plan.results = rows.keeps_columns ? rows.outer * plan.columns : rows.outer;
  if (rows.keeps_columns) {
    arrange_columns(plan);
    return plan;
  }
  if (rows.reduced.count == 0) {  // one row: its packs are the rows
    append(plan.reduced, plan.columns, pack);
    plan.rows = plan.columns;
    plan.columns = 1;
  }
  arrange_lines(plan);
  return plan;
}

Grid grid_for(const ReducePlan& plan, bool keeps_columns) {
  if (plan.results == 0) return {};
  if (keeps_columns) {
    return {ceil_divide(plan.results, plan.width) * plan.parts, plan.lanes * plan.width};
  }
  const std::int64_t lines = kThreads / plan.lanes;
  return {ceil_divide(plan.results * plan.parts, lines), kThreads};
}

}  // namespace

std::int64_t reduction_columns(const Shape& shape, const std::vector<std::int64_t>& axes) {
  return rows_of(shape, axes).columns;
}

std::int64_t reduction_parts(const Shape& shape, const std::vector<std::int64_t>& axes,
                             DType dtype) {
  const Rows rows = rows_of(shape, axes);
  return arrange(rows, pack_width(rows.columns, dtype)).parts;
}

Reduction plan_reduction(const Shape& shape, const std::vector<std::int64_t>& axes, int pack,
                         std::int64_t most_parts) {
  const Rows rows = rows_of(shape, axes);
  Reduction reduction;
  ReducePlan& plan = reduction.plan;
  plan = arrange(rows, pack);
  plan.parts = std::min(plan.parts, most_parts);
  plan.part = ceil_divide(plan.rows, plan.parts);
  reduction.keeps_columns = rows.keeps_columns;
  reduction.pack = pack;
  reduction.grid = grid_for(plan, rows.keeps_columns);
  reduction.name = rows.keeps_columns ? "fold_columns" : "fold_lines";
  return reduction;
}

const std::string_view kWalkText = R"cuda(
struct Dims {
  int64 extent[6], stride[6];
  int32 count;
};

struct Plan {
  Dims kept, reduced;
  int64 results, columns, rows, parts, part;
  int32 lanes, width;
};

// In elements.
DEVICE int64 offset_in(const Dims& dims, int64 place) {
  int64 offset = 0;
#pragma unroll
  for (int32 d = 0; d < 6; ++d) {
    if (d >= dims.count) break;
    const bool last = d + 1 == dims.count;
    const int64 next = last ? 0 : place / dims.extent[d];
    offset += (place - next * dims.extent[d]) * dims.stride[d];
    place = next;
  }
  return offset;
}

// What a thread does: the rows begin, begin + step, .. of a part of a result, from a column on.
struct Place {
  Team team;
  bool mine;  // or there is no such result
  int64 result, part, outer, column, begin, end, step;
};

DEVICE void set_rows(const Plan& plan, int32 lane, int32 lanes, Place& place) {
  const int64 begin = place.part * plan.part;
  const int64 end = begin + plan.part < plan.rows ? begin + plan.part : plan.rows;
  place.begin = begin + lane;
  place.end = place.mine ? end : begin;
  place.step = lanes;
}

DEVICE Place place_in_columns(const Plan& plan) {
  Place place;
  place.team = side_by_side(plan.lanes, plan.width);
  const int64 tiles = (plan.results + plan.width - 1) / plan.width;
  place.part = blockIdx.x / tiles;
  place.result = (blockIdx.x - place.part * tiles) * plan.width + place.team.slot;
  place.mine = place.result < plan.results;
  place.outer = place.result / plan.columns;
  place.column = place.result - place.outer * plan.columns;
  set_rows(plan, place.team.lane, plan.lanes, place);
  return place;
}

DEVICE Place place_in_lines(const Plan& plan) {
  Place place;
  place.team = neighbours(plan.lanes);
  const int64 line = (int64)blockIdx.x * (blockDim.x / plan.lanes) + place.team.slot;
  place.result = place.outer = line / plan.parts;
  place.part = line - place.result * plan.parts;
  place.mine = place.result < plan.results;
  place.column = place.team.lane % plan.width;
  set_rows(plan, place.team.lane / plan.width, plan.lanes / plan.width, place);
  return place;
}

// Op::fold of load(offset) over the rows of a thread, in one column. Few numbers are added to one
// sum, so that it keeps its digits.
template <class Op, class Load>
DEVICE typename Op::Number walk(const Plan& plan, const Place& place, int64 column,
                                const Load& load) {
  const int64 start = offset_in(plan.kept, place.outer) + column * V;
  const int64 step = place.step;
  const auto row = [&](int64 r) { return load(start + offset_in(plan.reduced, r)); };
  typename Op::Number total = Op::nothing();
  for (int64 r = place.begin; r < place.end;) {
    const int64 stop = r + 64 * step < place.end ? r + 64 * step : place.end;
    typename Op::Number some = Op::nothing();
    for (; r + 3 * step < stop; r += 4 * step) {
      const auto a = row(r), b = row(r + step), c = row(r + 2 * step), d = row(r + 3 * step);
      some = Op::fold(some, Op::fold(Op::fold(a, b), Op::fold(c, d)));
    }
    for (; r < stop; r += step) some = Op::fold(some, row(r));
    total = Op::fold(total, some);
  }
  return total;
}

// The same over all columns of a thread.
template <class Op, class Load>
DEVICE typename Op::Number walk_line(const Plan& plan, const Place& place, const Load& load) {
  typename Op::Number total = Op::nothing();
  if (!place.mine) return total;
  for (int64 c = place.column; c < plan.columns; c += plan.width) {
    total = Op::fold(total, walk<Op>(plan, place, c, load));
  }
  return total;
}
)cuda";

}  // namespace meshwork::cuda
