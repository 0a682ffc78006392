// y = max(x, 0); the gradient at 0 is 0
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  // The result tells the sign of x, so that x need not be kept.
  return {multiply(b, dy, b.add(kGreater, {self, constant_like(b, 0.0, self)}))};
}

}  // namespace

const OpDef kRelu{
    .name = "relu",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
