// y = sqrt(x)
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  return {scale(b, divide(b, dy, self), 0.5)};
}

}  // namespace

const OpDef kSqrt{
    .name = "sqrt",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
