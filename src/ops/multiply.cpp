// y = a b
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  const ValueId da = multiply(b, dy, inputs[1]);
  const ValueId db = multiply(b, dy, inputs[0]);
  return {sum_to(b, da, b.shape(inputs[0])), sum_to(b, db, b.shape(inputs[1]))};
}

}  // namespace

const OpDef kMultiply{
    .name = "multiply",
    .infer = infer_broadcast,
    .rule = elementwise_rule,
    .grad = grad,
    .linear = Linear::kEach,
    .in_place = true,
    .elementwise = true,
};

ValueId multiply(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kMultiply, {x, y}); }

ValueId scale(GraphBuilder& b, ValueId x, double factor) {
  return multiply(b, x, constant_like(b, factor, x));
}

}  // namespace meshwork::ops
