// y = -x
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId /*self*/, ValueId dy) {
  return {b.add(kNegate, {dy})};
}

}  // namespace

const OpDef kNegate{
    .name = "negate",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .grad = grad,
    .linear = Linear::kJointly,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
