// y = |x|; the gradient at 0 is 0
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const ValueId x = b.node(self).inputs[0];
  return {multiply(b, dy, b.add(kSign, {x}))};
}

}  // namespace

const OpDef kAbs{
    .name = "abs",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
