#pragma once

#include <string_view>

namespace meshwork::cuda {

/// How a thread finds its rows of a ReducePlan, and folds them. Part of a source behind kTeamText;
/// it needs a definition of V, the elements of a pack.
inline constexpr std::string_view kWalkText = R"cuda(
struct Dims {
  int64 extent[6], stride[6];
  int32 count;
};

struct Plan {
  Dims kept, reduced;
  int64 results, columns, rows, parts, part;
  int32 lanes, width;
};

// a / b of what is not negative; much the faster where both are small.
DEVICE int64 quotient(int64 a, int64 b) {
  return ((a | b) >> 32) == 0 ? (int64)((uint32)a / (uint32)b) : a / b;
}

// In elements.
DEVICE int64 offset_in(const Dims& dims, int64 place) {
  int64 offset = 0;
#pragma unroll
  for (int32 d = 0; d < 6; ++d) {
    if (d >= dims.count) break;
    const bool last = d + 1 == dims.count;
    const int64 next = last ? 0 : quotient(place, dims.extent[d]);
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

DEVICE Place place_in_columns(const Plan& plan, int64 block) {
  Place place;
  place.team = side_by_side(plan.lanes, plan.width);
  const int64 tiles = quotient(plan.results + plan.width - 1, plan.width);
  place.part = quotient(block, tiles);
  place.result = (block - place.part * tiles) * plan.width + place.team.slot;
  place.mine = place.result < plan.results;
  place.outer = quotient(place.result, plan.columns);
  place.column = place.result - place.outer * plan.columns;
  set_rows(plan, place.team.lane, plan.lanes, place);
  return place;
}

DEVICE Place place_in_lines(const Plan& plan, int64 block) {
  Place place;
  place.team = neighbours(plan.lanes);
  const int64 line = block * (blockDim.x / plan.lanes) + place.team.slot;
  place.result = place.outer = quotient(line, plan.parts);
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
