// Rows from the slots of experts (GShard, Lepikhin et al. 2020): y[b, t, k, ..] = x[e, b, c, ..]
// where slots[b, t, k] is e capacity + c; 0 where it is no slot. No slot of a sample is there
// twice.
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[1].dtype == DType::kInt32);
  const Shape& x = args.inputs[0].shape;
  const Shape& slots = args.inputs[1].shape;
  MW_CHECK(x.size() == 4 && slots.size() == 3 && x[1] == slots[0] && x[2] >= 1, "{} for slots {}",
           to_string(args.inputs[0]), to_string(args.inputs[1]));
  return {args.inputs[0].dtype, {slots[0], slots[1], slots[2], x[3]}};
}

// A device that holds a part of the experts e, or of their places c, gives their rows, else 0.
std::string rule(const OpArgs&) { return "e b c h, b t k -> b t k h"; }

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  const Shape x = b.shape(inputs[0]);
  return {b.add(kDispatch, {dy, inputs[1]}, {{"experts", x[0]}, {"capacity", x[2]}}), kNoValue};
}

}  // namespace

const OpDef kCombine{
    .name = "combine",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = no_flops,
    .linear = Linear::kFirst,
};

}  // namespace meshwork::ops
