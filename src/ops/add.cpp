// y = a + b
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  return {sum_to(b, dy, b.shape(inputs[0])), sum_to(b, dy, b.shape(inputs[1]))};
}

}  // namespace

const OpDef kAdd{
    .name = "add",
    .infer = infer_broadcast,
    .rule = elementwise_rule,
    .grad = grad,
    .linear = Linear::kJointly,
    .in_place = true,
    .elementwise = true,
};

ValueId add(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kAdd, {x, y}); }

ValueId shift(GraphBuilder& b, ValueId x, double offset) {
  return add(b, x, constant_like(b, offset, x));
}

}  // namespace meshwork::ops
