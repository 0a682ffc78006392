// y[n, o.., c] = sum over k of x[n, o * stride - padding + k.., c], of the elements that x has
#include "ops/ops.h"
#include "ops/window.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  return {b.add(kSumPoolInput, {dy}, with_extents(node.attrs, b.shape(node.inputs[0])))};
}

}  // namespace

const OpDef kSumPool{
    .name = "sum_pool",
    .infer = infer_pool,
    .rule = pool_rule,
    .reach = pool_reach,
    .grad = grad,
    .flops = pool_flops,
    .linear = Linear::kJointly,
};

}  // namespace meshwork::ops
