// Convolutions, pools and their kin: parts of a tensor against the whole.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "backend/cpu/reference/index.h"
#include "graph/dim_rule.h"
#include "window_cases.h"

using namespace meshwork;
using namespace meshwork::testing;
using meshwork::reference::for_each_index;
using meshwork::reference::offset_of;

namespace {

Tensor part_of(const Tensor& whole, const std::vector<Interval>& where) {
  Tensor part{{whole.type.dtype, {}}, whole_region(whole.type.shape), {}};
  for (std::size_t d = 0; d < where.size(); ++d) {
    part.type.shape.push_back(where[d].size());
    part.region.offset[d] = where[d].begin;
  }
  const Shape strides = row_major_strides(whole.type.shape);
  for_each_index(part.type.shape, [&](const Shape& index) {
    part.values.push_back(whole.values[static_cast<std::size_t>(
        offset_of(index, strides) + offset_of(part.region.offset, strides))]);
  });
  return part;
}

std::vector<Interval> all_of(const Shape& shape) {
  std::vector<Interval> result;
  for (const std::int64_t extent : shape) result.push_back({0, extent});
  return result;
}

/// Uneven tiles, one of them empty.
std::vector<Interval> tiles_of(std::int64_t extent) {
  const std::int64_t a = std::min<std::int64_t>(1, extent), b = std::max(a, extent / 2),
                     c = std::max(b, extent - 1);
  return {{0, a}, {a, a}, {a, b}, {b, c}, {c, extent}};
}

/// How a case is cut into parts.
struct Cutting {
  const OpCase& op_case;
  DimRule rule;
  std::vector<std::vector<std::optional<Reach>>> reaches;
  std::vector<Tensor> inputs;

  explicit Cutting(const OpCase& the_case) : op_case(the_case), inputs(draw_all(the_case)) {
    std::vector<TensorType> types;
    for (const Tensor& input : inputs) types.push_back(input.type);
    const OpArgs args{types, op_case.attrs, op_case.output};
    rule = parse_rule(op_case.op->rule(args), types, op_case.output);
    reaches = rule.reaches;
    for (std::size_t i = 0; i < reaches.size(); ++i) {
      for (std::size_t d = 0; d < reaches[i].size(); ++d) {
        if (reaches[i][d]) reaches[i][d] = op_case.op->reach(args, i, d);
      }
    }
  }

  /// Factors along which windows move.
  std::set<int> windowed() const {
    std::set<int> factors;
    for (std::size_t d = 0; d < reaches[0].size(); ++d) {
      if (reaches[0][d]) factors.insert(DimRule::major_factor(rule.inputs[0], d));
    }
    return factors;
  }

  /// Parts of the operands for these tiles of factors, of windowed ones `more` elements more than
  /// needed on either side.
  std::vector<Tensor> parts(const std::map<int, Interval>& tiles, std::int64_t more) const {
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Shape& shape = inputs[i].type.shape;
      std::vector<Interval> where = all_of(shape);
      for (const auto& [factor, tile] : tiles) {
        const int dim = DimRule::dim_of(rule.inputs[i], factor);
        if (dim < 0) continue;
        const auto d = static_cast<std::size_t>(dim);
        if (!reaches[i][d]) {
          where[d] = tile;
        } else {
          where[d] = reaches[i][d]->of(tile, shape[d]);
          if (where[d].size() == 0) continue;
          where[d] = intersection({where[d].begin - more, where[d].end + more}, {0, shape[d]});
        }
      }
      result.push_back(part_of(inputs[i], where));
    }
    return result;
  }

  /// Checks one choice of tiles; returns the result, a partial one where the rule has none of the
  /// factors on the right.
  Tensor check(Backend& backend, const Tensor& whole, const std::map<int, Interval>& tiles,
               std::int64_t more) const {
    std::vector<Interval> where = all_of(op_case.output.shape);
    for (const auto& [factor, tile] : tiles) {
      const int dim = DimRule::dim_of(rule.output, factor);
      if (dim >= 0) where[static_cast<std::size_t>(dim)] = tile;
    }
    const Tensor expected = part_of(whole, where);
    const Tensor actual = run(backend, op_case.op->name, parts(tiles, more), expected.type,
                              op_case.attrs, {.region = expected.region});
    if (DimRule::contains(rule.output, tiles.begin()->first)) check_close(actual, expected, 1e-5);
    return actual;
  }
};

void check_tiles(Backend& backend, const Cutting& cutting, std::int64_t more) {
  const Tensor whole = naive(cutting.op_case, cutting.inputs);
  const std::set<int> factors = cutting.windowed();
  Tensor sum = zeros(whole.type);
  const auto extent = [&](int factor) {
    return cutting.rule.factors[static_cast<std::size_t>(factor)].size;
  };
  const int first = *factors.begin(), last = *factors.rbegin();
  for (const Interval& rows : tiles_of(extent(first))) {
    for (const Interval& columns : tiles_of(extent(last))) {
      std::map<int, Interval> tiles{{first, rows}};
      if (first != last) tiles[last] = columns;
      CAPTURE(fmt::format("rows {} to {}, columns {} to {}, {} more", rows.begin, rows.end,
                          columns.begin, columns.end, more));
      const Tensor part = cutting.check(backend, whole, tiles, more);
      if (part.type == sum.type) {
        for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += part.values[i];
      }
      if (first == last) break;
    }
  }
  // A partial result: what the parts give together.
  if (!DimRule::contains(cutting.rule.output, first)) check_close(sum, whole, 1e-5);
}

}  // namespace

TEST_CASE("parts of windowed tensors give parts of the result") {
  const auto reference = make_reference_backend(), fast = make_cpu_backend(1);
  int checked = 0;
  for (const OpCase& op_case : window_cases()) {
    const Cutting cutting(op_case);
    if (cutting.windowed().empty()) continue;
    INFO(op_case.name);
    ++checked;
    for (const std::int64_t more : {0, 2}) {
      check_tiles(*reference, cutting, more);
      check_tiles(*fast, cutting, more);
    }
  }
  CHECK(checked > 120);
}
