// cast(product of 16 bits, float32) -> product that gives float32, where it is a gradient or added
// up across devices; cast(cast(x, 16 bits), float32) -> x, where it is a gradient: no digits are
// lost on the way, and passes over the result are saved. What layers give in the forward pass stays
// rounded.
#include <utility>

#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// Which values are added up across devices.
ValueMap<bool> find_added_up(const Graph& program) {
  ValueMap<bool> added_up(program.nodes.size(), false);
  for (const Node& node : program.nodes) {
    const Collective kind = node.op->collective;
    if (kind != Collective::kAllReduce && kind != Collective::kReduceScatter) continue;
    added_up[node.inputs[0]] = true;
  }
  return added_up;
}

bool is_forward(const Node& node) {
  return node.phase == Phase::kForward || node.phase == Phase::kRecompute;
}

bool can_widen(const Node& node) {
  return node.op->wide_result && is_narrow_float(node.type.dtype);
}

void run(Graph& program, const Target& /*target*/) {
  const Readers readers(program);
  const ValueMap<bool> added_up = find_added_up(program);
  Graph result;
  Renaming renamed;
  for (const ValueId id : program.ids()) {
    result.nodes.push_back(remap(std::move(program.node(id)), renamed));
    renamed.push_back(id);
    const Node& node = result.node(id);
    if (!is_widening(result, id) || (is_forward(node) && !added_up[id])) continue;
    const ValueId operand = node.inputs[0];
    Node& source = result.node(operand);
    if (is_narrowing(result, operand) && !is_forward(node)) renamed[id] = source.inputs[0];
    if (!can_widen(source) || readers.count(operand) != 1) continue;
    source.type.dtype = DType::kFloat32;
    source.attrs.set("dtype", "float32");
    renamed[id] = operand;
  }
  remap_names(program, renamed, result);
  result.regions = std::move(program.regions);
  program = std::move(result);
}

}  // namespace

namespace rewriting {
const RewriteDef kWideResults{.name = "wide_results", .run = run};
}  // namespace rewriting

}  // namespace meshwork
