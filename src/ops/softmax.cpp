// y[.., c] = exp(x[.., c] - max x) / sum exp(x - max x) along `axis`
#include "graph/dim_rule.h"
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/softmax_rule.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::int64_t axis = b.node(self).attrs.integer("axis");
  // dx = (dy - sum(dy y)) y
  const ValueId sum = reduce_sum(b, multiply(b, dy, self), {axis}, true);
  return {multiply(b, subtract(b, dy, sum), self)};
}

ValueId split(GraphBuilder& b, std::span<const ValueId> inputs, const Attrs& attrs) {
  const std::int64_t axis = attrs.integer("axis");
  const ValueId max = reduce_max(b, inputs[0], {axis}, true);
  const ValueId exp = b.add(kExp, {subtract(b, inputs[0], max)});
  return divide(b, exp, reduce_sum(b, exp, {axis}, true));
}

}  // namespace

const OpDef kSoftmax{
    .name = "softmax",
    .infer = infer_unary,
    .rule = softmax_rule,
    .grad = grad,
    .split = split,
    .in_place = true,
};

}  // namespace meshwork::ops
