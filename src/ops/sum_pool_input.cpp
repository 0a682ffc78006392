// The gradient of sum_pool: x[n, i.., c] = sum of y[n, o.., c] over the windows o that read i.
// Attributes as of sum_pool, `extents` those of x. With window = stride it repeats elements.
#include "ops/ops.h"
#include "ops/window.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dx) {
  const Node node = b.node(self);
  return {b.add(kSumPool, {dx}, with_extents(node.attrs, b.shape(node.inputs[0])))};
}

}  // namespace

const OpDef kSumPoolInput{
    .name = "sum_pool_input",
    .infer = infer_pool,
    .rule = pool_rule,
    .reach = pool_input_reach,
    .grad = grad,
    .flops = pool_flops,
    .linear = Linear::kJointly,
};

}  // namespace meshwork::ops
