// y[b, t, g, r, e] = sum over s of p v[b, s, g, e], the weights p the softmax of scale q k over the
// keys s that a query sees, after dropout
#include "ops/attention.h"

#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  check_attention(args, kAttentionOperands);
  Shape shape = args.inputs[0].shape;
  shape.back() = args.inputs[2].shape.back();
  return {args.inputs[0].dtype, std::move(shape)};
}

// "b t g r [d], b [s] g [d], b [s] g [e] -> b t g r [e]"
std::string rule(const OpArgs& args) {
  return attention_rule(args, kAttentionOperands, "[s]", "b t g r [e]");
}

/// What all three gradients take: (q, k, v, dy, log_sum, delta, and the extras).
std::vector<ValueId> gradient_operands(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const ValueId log_sum = b.add(kAttentionLogSum, node.inputs, node.attrs);
  const ValueId y = cast(b, self, DType::kFloat32);
  const ValueId product = multiply(b, cast(b, dy, DType::kFloat32), y);
  const Shape rows = b.shape(log_sum);
  const ValueId delta = reshape(b, reduce_sum(b, product, {4}, true), rows);
  std::vector<ValueId> operands{node.inputs[0], node.inputs[1], node.inputs[2], dy, log_sum, delta};
  operands.insert(operands.end(), node.inputs.begin() + kAttentionOperands, node.inputs.end());
  return operands;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const std::vector<ValueId> operands = gradient_operands(b, self, dy);
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[0] = b.add(kAttentionQueryGradient, operands, node.attrs);
  gradients[1] = b.add(kAttentionKeyGradient, operands, node.attrs);
  gradients[2] = b.add(kAttentionValueGradient, operands, node.attrs);
  return gradients;
}

double flops(const OpArgs& args) { return attention_flops(args, 2); }

}  // namespace

const OpDef kAttention{
    .name = "attention",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = flops,
};

}  // namespace meshwork::ops
