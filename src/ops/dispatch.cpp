// Rows to the slots of experts (GShard, Lepikhin et al. 2020): y[e, b, c, ..] = x[b, t, k, ..]
// where slots[b, t, k] is e capacity + c, else 0. No slot of a sample is there twice. Of x the
// extent of k may be 1.
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[1].dtype == DType::kInt32);
  const Shape& x = args.inputs[0].shape;
  const Shape& slots = args.inputs[1].shape;
  MW_CHECK(x.size() == 4 && slots.size() == 3 && x[0] == slots[0] && x[1] == slots[1] &&
               (x[2] == slots[2] || x[2] == 1),
           "{} for slots {}", to_string(args.inputs[0]), to_string(args.inputs[1]));
  const std::int64_t experts = args.attrs.integer("experts");
  const std::int64_t capacity = args.attrs.integer("capacity");
  MW_CHECK(experts >= 1 && capacity >= 1, "{} experts of {}", experts, capacity);
  return {args.inputs[0].dtype, {experts, x[0], capacity, x[3]}};
}

// A device that holds a part of the positions t gives their rows, else 0.
std::string rule(const OpArgs& args) {
  const bool is_shared = args.inputs[0].shape[2] == 1;
  return is_shared ? "b t 1 h, b t k -> e b c h" : "b t k h, b t k -> e b c h";
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  const Shape x = b.shape(inputs[0]);
  return {sum_to(b, b.add(kCombine, {dy, inputs[1]}), x), kNoValue};
}

}  // namespace

const OpDef kDispatch{
    .name = "dispatch",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = no_flops,
    .linear = Linear::kFirst,
    .any_part = true,
};

}  // namespace meshwork::ops
