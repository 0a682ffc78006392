// y = the greater of a and b; where they are equal, each gets half of the gradient
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  const ValueId half = scale(b, b.add(kEqual, {inputs[0], inputs[1]}), 0.5);
  const ValueId a_wins = add(b, b.add(kGreater, {inputs[0], inputs[1]}), half);
  const ValueId b_wins = add(b, b.add(kGreater, {inputs[1], inputs[0]}), half);
  const ValueId da = multiply(b, dy, a_wins);
  const ValueId db = multiply(b, dy, b_wins);
  return {sum_to(b, da, b.shape(inputs[0])), sum_to(b, db, b.shape(inputs[1]))};
}

}  // namespace

const OpDef kMaximum{
    .name = "maximum",
    .infer = infer_broadcast,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
