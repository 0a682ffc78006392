// y = erf(x) = 2 / sqrt(pi) * integral from 0 to x of exp(-t^2) dt
#include <cmath>
#include <numbers>

#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const ValueId x = b.node(self).inputs[0];
  const ValueId square = b.add(kSquare, {x});
  const ValueId bell = b.add(kExp, {b.add(kNegate, {square})});
  return {multiply(b, dy, scale(b, bell, 2 / std::sqrt(std::numbers::pi)))};
}

}  // namespace

const OpDef kErf{
    .name = "erf",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .grad = grad,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
