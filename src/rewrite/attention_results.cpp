// gradient of attention(q, k, v, dy, log_sum, delta, ..) of 16 bits -> the same with the result y
// behind: kernels on tensor cores, among them libraries', compute delta of dy and y on their way.
#include <algorithm>
#include <vector>

#include "graph/attention_options.h"
#include "graph/op_def.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

bool is_gradient(const Node& node) {
  return node.op == &ops::kAttentionQueryGradient || node.op == &ops::kAttentionKeyGradient ||
         node.op == &ops::kAttentionValueGradient;
}

/// What the attention took whose gradient it is.
std::vector<ValueId> forward_operands(const Node& gradient) {
  const auto& inputs = gradient.inputs;
  std::vector<ValueId> operands(inputs.begin(), inputs.begin() + kAttentionOperands);
  operands.insert(operands.end(), inputs.begin() + kAttentionGradientOperands, inputs.end());
  return operands;
}

/// The last before the gradient: that of the backward pass, where it is computed again.
ValueId find_result(const Graph& program, ValueId gradient) {
  const Node& of = program.node(gradient);
  const std::vector<ValueId> operands = forward_operands(of);
  for (ValueId id = gradient; id-- > 0;) {
    const Node& node = program.node(id);
    if (node.op == &ops::kAttention && node.inputs == operands && node.attrs == of.attrs) return id;
  }
  return kNoValue;
}

void run(Graph& program, const Target& /*target*/) {
  for (const ValueId id : program.ids()) {
    Node& node = program.node(id);
    if (!is_gradient(node) || !is_narrow_float(node.type.dtype)) continue;
    const ValueId result = find_result(program, id);
    if (result == kNoValue) continue;
    node.inputs.push_back(result);
    node.attrs.set("with_result", true);
  }
}

}  // namespace

namespace rewriting {
const RewriteDef kAttentionResults{.name = "attention_results", .run = run};
}  // namespace rewriting

}  // namespace meshwork
