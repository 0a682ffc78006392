// y = ln(1 + exp(x)), computed as max(x, 0) + log1p(exp(-|x|)), which never overflows
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const ValueId x = b.node(self).inputs[0];
  return {multiply(b, dy, b.add(kSigmoid, {x}))};
}

}  // namespace

const OpDef kSoftplus{
    .name = "softplus",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
