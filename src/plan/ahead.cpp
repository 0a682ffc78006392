#include "plan/ahead.h"

#include <algorithm>

#include "base/index.h"
#include "graph/flops.h"
#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"

namespace meshwork {
namespace {

/// Whether a value can be computed at any time, of variables alone, in passes or as copies: the
/// same on all devices. What is computed with others comes with them.
ValueMap<bool> made_of_variables(const Graph& program, const ValueMap<std::vector<ValueId>>& before,
                                 const Units& units) {
  ValueMap<bool> made(program.nodes.size(), false);
  const auto is_made = [&](ValueId id) { return made[id]; };
  const auto can_be_made = [&](ValueId id) {
    const Node& node = program.node(id);
    if (node.op->leaf == Leaf::kVariable || is_number(program, id)) return true;
    const bool moves = node.op->linear == Linear::kJointly && flops_of(program, node) == 0;
    return (is_fusible(program, id) || moves) && node.phase != Phase::kUpdate &&
           !node.inputs.empty() && std::ranges::all_of(before[id], is_made);
  };
  for (ValueId begin = 0; begin < program.end(); begin = units.end(begin)) {
    bool all = true;
    for (ValueId id = begin; id < units.end(begin); ++id) all = (made[id] = can_be_made(id)) && all;
    std::fill(made.begin() + begin, made.begin() + units.end(begin), all);
  }
  return made;
}

}  // namespace

std::vector<int> gathers_ahead(const Graph& program, const ValueMap<std::vector<ValueId>>& before,
                               const std::vector<Call>& calls, const Units& units) {
  const Readers readers(program);
  const ValueMap<bool> made = made_of_variables(program, before, units);
  const auto may_start = [&](ValueId id) {
    return program.node(id).op->collective == Collective::kAllGather &&
           !readers.nodes(id).empty() &&
           std::ranges::all_of(before[id], [&](ValueId other) { return made[other]; });
  };
  std::vector<int> result;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    if (std::ranges::all_of(calls[c].nodes, may_start)) result.push_back(static_cast<int>(c));
  }
  std::ranges::stable_sort(
      result, {}, [&](int c) { return readers.nodes(calls[index(c)].nodes.front()).front(); });
  return result;
}

}  // namespace meshwork
