// y = a^b
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  const ValueId zero = constant_like(b, 0.0, self);
  const ValueId one = constant_like(b, 1.0, self);
  // da = dy b a^(b - 1), but 0 where b is 0, also at a = 0, where a^-1 is infinite.
  const ValueId below = subtract(b, inputs[1], one);
  const ValueId exponent = b.add(kSelect, {b.add(kEqual, {inputs[1], zero}), one, below});
  const ValueId slope = multiply(b, inputs[1], b.add(kPower, {inputs[0], exponent}));
  const ValueId da = multiply(b, dy, slope);
  // db = dy y ln(a), but 0 where a has no logarithm.
  const ValueId positive = b.add(kGreater, {inputs[0], zero});
  const ValueId log = b.add(kLog, {b.add(kSelect, {positive, inputs[0], one})});
  const ValueId dy_y = multiply(b, dy, self);
  const ValueId db = multiply(b, dy_y, log);
  return {sum_to(b, da, b.shape(inputs[0])), sum_to(b, db, b.shape(inputs[1]))};
}

}  // namespace

const OpDef kPower{
    .name = "power",
    .infer = infer_broadcast,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
