// y[.., c] = x[.., c] - max x - log sum exp(x - max x) along `axis`
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/softmax_rule.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::int64_t axis = b.node(self).attrs.integer("axis");
  // dx = dy - exp(y) sum(dy)
  const ValueId sum = reduce_sum(b, dy, {axis}, true);
  const ValueId softmax = exp(b, self);
  return {subtract(b, dy, multiply(b, softmax, sum))};
}

ValueId split(GraphBuilder& b, std::span<const ValueId> inputs, const Attrs& attrs) {
  const std::int64_t axis = attrs.integer("axis");
  const ValueId max = reduce_max(b, inputs[0], {axis}, true);
  const ValueId shifted = subtract(b, inputs[0], max);
  const ValueId sum = reduce_sum(b, exp(b, shifted), {axis}, true);
  return subtract(b, shifted, log(b, sum));
}

}  // namespace

const OpDef kLogSoftmax{
    .name = "log_softmax",
    .infer = infer_unary,
    .rule = softmax_rule,
    .grad = grad,
    .split = split,
    .in_place = true,
};

}  // namespace meshwork::ops
