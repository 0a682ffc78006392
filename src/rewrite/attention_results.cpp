// gradient of attention(q, k, v, dy, log_sum, delta, ..) of 16 bits -> the same with the result y,
// of which delta is the sum of dy y, in its place: kernels on tensor cores, among them libraries',
// compute it on their way. Where such gradients alone read a log_sum, it stands head by head, as
// libraries have it.
#include <algorithm>
#include <vector>

#include "graph/attention_options.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/attention.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

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

void take_results(Graph& program) {
  for (const ValueId id : program.ids()) {
    Node& node = program.node(id);
    if (!ops::is_attention_gradient(node) || !is_narrow_float(node.type.dtype)) continue;
    const ValueId result = result_of(program, node.inputs[kAttentionDeltaOperand], node.inputs[3]);
    if (result == kNoValue) continue;
    node.inputs[kAttentionDeltaOperand] = result;
    node.attrs.set("with_result", true);
  }
}

/// [b, t, g, r] as [b, g, r, t].
Region by_head(const Region& region) {
  const auto turned = [](const Shape& x) { return Shape{x[0], x[2], x[3], x[1]}; };
  return {turned(region.global), turned(region.offset)};
}

/// With all that reads it, and with the attention that is computed together with it.
void turn(Graph& program, ValueId log_sum, const std::vector<ValueId>& gradients) {
  Node& turned = program.node(log_sum);
  for (const ValueId id : program.ids()) {
    Node& node = program.node(id);
    if (node.op != &ops::kAttention) continue;
    if (node.inputs == turned.inputs && node.attrs == turned.attrs) node.attrs.set("by_head", true);
  }
  for (const ValueId id : gradients) program.node(id).attrs.set("by_head", true);
  turned.attrs.set("by_head", true);
  turned.type.shape = log_sum_shape(program.type(turned.inputs[0]).shape, true);
  if (!program.regions.empty()) program.regions[log_sum] = by_head(program.regions[log_sum]);
}

void turn_log_sums(Graph& program) {
  const Readers readers(program);
  for (const ValueId id : program.ids()) {
    if (program.node(id).op != &ops::kAttentionLogSum || readers.nodes(id).empty()) continue;
    const bool turns =
        readers.are_nodes(id) && std::ranges::all_of(readers.nodes(id), [&](ValueId reader) {
          const Node& node = program.node(reader);
          return ops::is_attention_gradient(node) && attention_options(node.attrs).with_result;
        });
    if (turns) turn(program, id, readers.nodes(id));
  }
}

void run(Graph& program, const Target& /*target*/) {
  take_results(program);
  turn_log_sums(program);
}

}  // namespace

namespace rewriting {
const RewriteDef kAttentionResults{.name = "attention_results", .run = run};
}  // namespace rewriting

}  // namespace meshwork
