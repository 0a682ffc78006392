// y = sum of x^2 over `axes`
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/reduce.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const ValueId x = node.inputs[0];
  const Shape shape = b.shape(x);
  const ValueId spread = broadcast_to(b, reshape(b, dy, kept_shape(shape, node.attrs)), shape);
  return {multiply(b, spread, scale(b, x, 2))};
}

double flops(const OpArgs& args) { return 2 * reduce_flops(args); }

}  // namespace

const OpDef kSumOfSquares{
    .name = "sum_of_squares",
    .infer = infer_reduce,
    .rule = reduce_rule,
    .grad = grad,
    .flops = flops,
};

}  // namespace meshwork::ops
