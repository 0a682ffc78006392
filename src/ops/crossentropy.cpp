// y[..] = log sum exp x[.., c] - x[.., label[..]]; 0 for a label that is no class
#include "ops/crossentropy_rule.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) { return {DType::kFloat32, check_labels(args)}; }

// "a b [c], a b -> a b"
std::string rule(const OpArgs& args) {
  const CrossentropyTexts texts = crossentropy_texts(args);
  return texts.logits + ", " + texts.labels + " -> " + texts.labels;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  Shape column = b.shape(dy);
  column.push_back(1);
  const ValueId d = reshape(b, negate(b, dy), std::move(column));
  return {b.add(kCrossentropyGradient, {inputs[0], inputs[1], d}), kNoValue};
}

double flops(const OpArgs& args) { return static_cast<double>(num_elements(args.inputs[0].shape)); }

}  // namespace

const OpDef kCrossentropy{
    .name = "crossentropy",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = flops,
};

}  // namespace meshwork::ops
