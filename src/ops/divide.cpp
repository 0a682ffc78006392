// y = a / b
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  // da = dy / b; db = -dy a / b^2 = -da y
  const ValueId da = divide(b, dy, inputs[1]);
  const ValueId db = b.add(kNegate, {multiply(b, da, self)});
  return {sum_to(b, da, b.shape(inputs[0])), sum_to(b, db, b.shape(inputs[1]))};
}

}  // namespace

const OpDef kDivide{
    .name = "divide",
    .infer = infer_broadcast,
    .rule = elementwise_rule,
    .grad = grad,
    .linear = Linear::kFirst,
    .in_place = true,
    .elementwise = true,
};

ValueId divide(GraphBuilder& b, ValueId x, ValueId y) { return b.add(kDivide, {x, y}); }

}  // namespace meshwork::ops
