// y = a where the condition is not 0, else b
#include "base/check.h"
#include "graph/dim_rule.h"
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 3 && is_floating(args.inputs[0].dtype));
  MW_CHECK(args.inputs[1].dtype == args.inputs[2].dtype, "select of {} and {}",
           to_string(args.inputs[1]), to_string(args.inputs[2]));
  return {args.inputs[1].dtype, broadcast_shapes(args.inputs)};
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  const ValueId zero = constant_like(b, 0.0, dy);
  const ValueId da = b.add(kSelect, {inputs[0], dy, zero});
  const ValueId db = b.add(kSelect, {inputs[0], zero, dy});
  return {kNoValue, sum_to(b, da, b.shape(inputs[1])), sum_to(b, db, b.shape(inputs[2]))};
}

}  // namespace

const OpDef kSelect{
    .name = "select",
    .infer = infer,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
