// y = 1 / (1 + exp(-x))
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  // dx = dy y (1 - y) = (dy - dy y) y
  const ValueId dy_y = multiply(b, dy, self);
  return {multiply(b, subtract(b, dy, dy_y), self)};
}

}  // namespace

const OpDef kSigmoid{
    .name = "sigmoid",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
