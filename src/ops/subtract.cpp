// y = a - b
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  const ValueId da = sum_to(b, dy, b.shape(inputs[0]));
  const ValueId db = sum_to(b, dy, b.shape(inputs[1]));
  return {da, b.add(kNegate, {db})};
}

}  // namespace

const OpDef kSubtract{
    .name = "subtract",
    .infer = infer_broadcast,
    .rule = elementwise_rule,
    .grad = grad,
    .linear = Linear::kJointly,
    .in_place = true,
    .elementwise = true,
};

ValueId subtract(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kSubtract, {x, y}); }

}  // namespace meshwork::ops
