// gradient of attention(q, k, v, dy, log_sum, delta, ..) of 16 bits -> the same with the result y,
// of which delta is the sum of dy y, in its place: kernels on tensor cores, among them libraries',
// compute it on their way.
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

/// What a cast is of.
ValueId before_cast(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  return node.op == &ops::kCast ? node.inputs[0] : id;
}

/// y of reshape(reduce_sum(cast(dy) cast(y))).
ValueId result_of(const Graph& program, ValueId delta, ValueId dy) {
  const Node& shaped = program.node(delta);
  if (shaped.op != &ops::kReshape) return kNoValue;
  const Node& sum = program.node(shaped.inputs[0]);
  if (sum.op != &ops::kReduceSum) return kNoValue;
  const Node& product = program.node(sum.inputs[0]);
  if (product.op != &ops::kMultiply) return kNoValue;
  const ValueId one = before_cast(program, product.inputs[0]);
  const ValueId other = before_cast(program, product.inputs[1]);
  const ValueId result = one == dy ? other : one;
  const bool is_whole = (one == dy || other == dy) && program.type(result) == program.type(dy);
  return is_whole ? result : kNoValue;
}

void run(Graph& program, const Target& /*target*/) {
  for (const ValueId id : program.ids()) {
    Node& node = program.node(id);
    if (!is_gradient(node) || !is_narrow_float(node.type.dtype)) continue;
    const ValueId result = result_of(program, node.inputs[kAttentionDelta], node.inputs[3]);
    if (result == kNoValue) continue;
    node.inputs[kAttentionDelta] = result;
    node.attrs.set("with_result", true);
  }
}

}  // namespace

namespace rewriting {
const RewriteDef kAttentionResults{.name = "attention_results", .run = run};
}  // namespace rewriting

}  // namespace meshwork
