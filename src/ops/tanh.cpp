// y = tanh(x)
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  // dx = dy (1 - y^2)
  const ValueId square = b.add(kSquare, {self});
  return {subtract(b, dy, multiply(b, dy, square))};
}

}  // namespace

const OpDef kTanh{
    .name = "tanh",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
