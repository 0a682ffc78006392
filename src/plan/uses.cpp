#include "plan/uses.h"

#include <algorithm>

#include "base/index.h"
#include "graph/op_def.h"
#include "graph/views.h"

namespace meshwork {

Uses::Uses(const Plan& plan)
    : made_by(plan.program.nodes.size(), -1),
      last(plan.program.nodes.size(), -1),
      reads(plan.program.nodes.size(), 0),
      finish_of(plan.instructions.size(), -1),
      root(plan.program.nodes.size()),
      shown_from(plan.program.nodes.size(), 0) {
  const Graph& graph = plan.program;
  const int end = static_cast<int>(plan.instructions.size());
  find_roots(graph);
  for (int i = 0; i < end; ++i) {
    const Instruction& instruction = plan.instructions[index(i)];
    for (const ValueId id : instruction.nodes) {
      made_by[id] = i;
      touch(id, i);
      for (const ValueId input : graph.node(id).inputs) {
        touch(input, i);
        ++reads[root[input]];
      }
    }
    if (instruction.kind == Instruction::Kind::kFinish) touch_call(plan, i);
  }
  for (const NamedValue& output : graph.outputs) touch(output.value, end);
  for (const Update& update : graph.updates) touch(update.value, end);
}

void Uses::find_roots(const Graph& graph) {
  for (const ValueId id : graph.ids()) {
    root[id] = id;
    const auto offset = view_offset(graph, id);
    if (!offset) continue;
    const ValueId operand = graph.node(id).inputs[0];
    root[id] = root[operand];
    shown_from[id] = shown_from[operand] + *offset;
  }
}

void Uses::touch(ValueId id, int instruction) {
  last[id] = std::max(last[id], instruction);
  last[root[id]] = std::max(last[root[id]], instruction);
}

/// A result is there only now, whoever reads it; until now others may have read the operand. That
/// of an all-reduce is the result, or was copied there.
void Uses::touch_call(const Plan& plan, int finish) {
  const int start = plan.instructions[index(finish)].started;
  finish_of[index(start)] = finish;
  for (const ValueId id : plan.instructions[index(start)].nodes) {
    touch(id, finish);
    const Node& node = plan.program.node(id);
    if (node.op->collective == Collective::kAllReduce) continue;
    for (const ValueId input : node.inputs) touch(input, finish);
  }
}

}  // namespace meshwork
