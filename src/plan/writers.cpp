#include "plan/writers.h"

#include <set>

#include "base/block_counts.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "plan/plan.h"

namespace meshwork {
namespace {

/// A constant that several variables take as their new value, for each of them anew: written where
/// the variable stands, it needs no other place.
void give_own_constants(Graph& program) {
  std::set<ValueId> taken;
  for (Update& update : program.updates) {
    if (taken.insert(update.value).second) continue;
    const Node node = program.node(update.value);
    if (!node.inputs.empty() || is_leaf(node)) continue;
    update.value = program.append(node, Region(program.regions[update.value]));
  }
}

}  // namespace

Graph with_overwrite_edges(Graph program) {
  give_own_constants(program);
  ValueMap<std::vector<ValueId>> readers(program.nodes.size());
  for (const ValueId id : program.ids()) {
    for (const ValueId input : program.node(id).inputs) {
      readers[viewed(program, input)].push_back(id);
    }
  }
  for (const Update& update : program.updates) {
    const ValueId writer = written_for(program, update);
    for (const ValueId reader : readers[update.variable]) {
      if (reader < writer) program.controls.push_back({reader, writer});
    }
  }
  return program;
}

ValueId written_for(const Graph& program, const Update& update) {
  const ValueId value = viewed(program, update.value);
  if (program.node(value).op->collective != Collective::kAllGather) return value;
  return viewed(program, program.node(value).inputs[0]);
}

std::int64_t block_begin(const Graph& program, ValueId all_gather) {
  const Node& node = program.node(all_gather);
  const std::int64_t before = offset_of(node.collective->counts, node.collective->own);
  return before * static_cast<std::int64_t>(size_of(node.type.dtype));
}

}  // namespace meshwork
