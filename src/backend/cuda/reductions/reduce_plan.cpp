#include "backend/cuda/reductions/reduce_plan.h"

#include <algorithm>
#include <bit>

#include "backend/cuda/reductions/pack.h"
#include "backend/merged_dims.h"
#include "base/check.h"
#include "base/rounded_up.h"

namespace meshwork::cuda {
namespace {

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kFull = 1024;        ///< blocks that keep any GPU busy
constexpr std::int64_t kRowsOfThread = 16;  ///< at least, before a result is folded in parts
constexpr std::int64_t kRowsOfPart = 4;     ///< of a thread, where blocks are few
constexpr std::int64_t kMostLanes = 64;     ///< of a result, where it is not folded in parts
constexpr std::int64_t kFewRows = 1024;     ///< which are not
constexpr std::int64_t kBusy = 396;         ///< blocks are few below
constexpr std::int64_t kPacksOfLane = 8;
constexpr std::int64_t kFewResults = 64;  ///< packs, which one block takes

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

/// So many threads for each result, as far as there are rows for them; teams fill a block.
void set_lanes(ReducePlan& plan, std::int64_t most) {
  const std::int64_t lanes = power_of_two_below(std::min(most, plan.rows / 4));
  plan.lanes = static_cast<std::int32_t>(lanes);
  plan.width = static_cast<std::int32_t>(std::min(plan.results, kThreads / lanes));
}

/// Neighbouring threads take neighbouring packs of results.
void arrange_columns(ReducePlan& plan, bool in_parts) {
  const std::int64_t fit = kThreads / std::max<std::int64_t>(plan.results, 1);
  set_lanes(plan, plan.results <= kFewResults ? fit : 8);
  const std::int64_t blocks = ceil_divide(plan.results, std::max(plan.width, 1));
  // Of fewer rows a second pass takes longer than all of them.
  if (in_parts && plan.rows > kFewRows) {
    const std::int64_t long_parts = plan.rows / (plan.lanes * kRowsOfThread);
    const std::int64_t short_parts =
        std::min(plan.rows / (plan.lanes * kRowsOfPart), kBusy / std::max<std::int64_t>(blocks, 1));
    return split(plan, blocks, long_parts > 1 ? std::max(long_parts, short_parts) : 1);
  }
  plan.parts = 1;
  if (blocks < kFull) set_lanes(plan, std::max(fit, kMostLanes));
}

/// Neighbouring threads take neighbouring packs of one result.
void arrange_lines(ReducePlan& plan, bool in_parts) {
  const std::int64_t packs = plan.rows * plan.columns;
  const bool is_short = packs <= 32 * kPacksOfLane;
  const std::int64_t lanes =
      is_short ? std::min<std::int64_t>(32, power_of_two_above(ceil_divide(packs, kPacksOfLane)))
               : kThreads;
  plan.lanes = static_cast<std::int32_t>(lanes);
  plan.width = static_cast<std::int32_t>(std::min(lanes, power_of_two_above(plan.columns)));
  plan.parts = 1;
  if (in_parts && !is_short) split(plan, plan.results, packs / (kThreads * kPacksOfLane));
}

ReducePlan arrange(const Rows& rows, int pack, bool in_parts) {
  ReducePlan plan{};
  plan.kept = rows.kept;
  plan.reduced = rows.reduced;
  plan.columns = rows.columns / pack;
  plan.rows = rows.rows;
  plan.results = rows.keeps_columns ? rows.outer * plan.columns : rows.outer;
  if (rows.keeps_columns) {
    arrange_columns(plan, in_parts);
    return plan;
  }
  if (rows.reduced.count == 0) {  // one row: its packs are the rows
    append(plan.reduced, plan.columns, pack);
    plan.rows = plan.columns;
    plan.columns = 1;
  }
  arrange_lines(plan, in_parts);
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
  return arrange(rows, pack_width(rows.columns, dtype), true).parts;
}

Reduction plan_reduction(const Shape& shape, const std::vector<std::int64_t>& axes, int pack,
                         std::int64_t most_parts) {
  const Rows rows = rows_of(shape, axes);
  Reduction reduction;
  ReducePlan& plan = reduction.plan;
  plan = arrange(rows, pack, most_parts > 1);
  plan.parts = std::min(plan.parts, most_parts);
  plan.part = ceil_divide(plan.rows, plan.parts);
  reduction.keeps_columns = rows.keeps_columns;
  reduction.pack = pack;
  reduction.grid = grid_for(plan, rows.keeps_columns);
  reduction.name = rows.keeps_columns ? "fold_columns" : "fold_lines";
  return reduction;
}

}  // namespace meshwork::cuda
