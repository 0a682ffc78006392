// y = the point of the probability simplex nearest to x, along `axis`: max(x - tau, 0) with tau
// such that y sums to 1 (Martins and Astudillo 2016, "From softmax to sparsemax")
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/softmax_rule.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::int64_t axis = b.node(self).attrs.integer("axis");
  // dx = s (dy - sum(s dy) / sum(s)) on the support s = [y > 0], which is never empty
  const ValueId support = greater(b, self, constant_like(b, 0.0, self));
  const ValueId sum = reduce_sum(b, multiply(b, support, dy), {axis}, true);
  const ValueId count = reduce_sum(b, support, {axis}, true);
  const ValueId mean = divide(b, sum, count);
  return {multiply(b, support, subtract(b, dy, mean))};
}

}  // namespace

const OpDef kSparsemax{
    .name = "sparsemax",
    .infer = infer_unary,
    .rule = softmax_rule,
    .grad = grad,
};

}  // namespace meshwork::ops
