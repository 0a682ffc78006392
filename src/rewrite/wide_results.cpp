// cast(product of bfloat16, float32) -> product that gives float32, where it is a gradient or added
// up across devices; cast(cast(x, bfloat16), float32) -> x, where it is a gradient: no digits are
// lost on the way, and passes over the result are saved. What layers give in the forward pass stays
// rounded.
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// Which values are added up across devices.
std::vector<bool> find_added_up(const Graph& program) {
  std::vector<bool> added_up(program.nodes.size(), false);
  for (const Node& node : program.nodes) {
    const Collective kind = node.op->collective;
    if (kind != Collective::kAllReduce && kind != Collective::kReduceScatter) continue;
    added_up[static_cast<std::size_t>(node.inputs[0])] = true;
  }
  return added_up;
}

bool is_widening(const Node& node) {
  return node.op == &ops::kCast && node.type.dtype == DType::kFloat32;
}

bool is_forward(const Node& node) {
  return node.phase == Phase::kForward || node.phase == Phase::kAgain;
}

bool is_rounding(const Graph& program, const Node& node) {
  return node.op == &ops::kCast && node.type.dtype == DType::kBFloat16 &&
         program.type(node.inputs[0]).dtype == DType::kFloat32;
}

bool can_widen(const Node& node) {
  return node.op->wide_result && node.type.dtype == DType::kBFloat16;
}

void run(Graph& program) {
  const std::vector<int> readers = count_readers(program);
  const std::vector<bool> added_up = find_added_up(program);
  std::vector<ValueId> renamed(program.nodes.size());
  const auto rename = [&](ValueId& id) { id = renamed[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    Node& node = program.nodes[i];
    renamed[i] = static_cast<ValueId>(i);
    for (ValueId& input : node.inputs) rename(input);
    if (!is_widening(node) || (is_forward(node) && !added_up[i])) continue;
    const auto operand = static_cast<std::size_t>(node.inputs[0]);
    Node& source = program.nodes[operand];
    if (is_rounding(program, source) && !is_forward(node)) renamed[i] = source.inputs[0];
    if (!can_widen(source) || readers[operand] != 1) continue;
    source.type.dtype = DType::kFloat32;
    source.attrs.set("dtype", "float32");
    renamed[i] = node.inputs[0];
  }
  for (Update& update : program.updates) rename(update.value);
  for (NamedValue& output : program.outputs) rename(output.value);
  for (NamedValue& output : program.layer_outputs) rename(output.value);
}

}  // namespace

namespace rewriting {
const RewriteDef kWideResults{.name = "wide_results", .run = run};
}  // namespace rewriting

}  // namespace meshwork
