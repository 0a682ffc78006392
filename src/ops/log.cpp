// y = ln(x)
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const ValueId x = b.node(self).inputs[0];
  return {divide(b, dy, x)};
}

}  // namespace

const OpDef kLog{
    .name = "log",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
