// y[n, o.., c] = max over k of x[n, o * stride - padding + k.., c], of the elements that x has
#include "ops/ops.h"
#include "ops/window.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const ValueId x = node.inputs[0];
  return {b.add(kMaxPoolInput, {x, dy}, with_extents(node.attrs, b.shape(x)))};
}

}  // namespace

const OpDef kMaxPool{
    .name = "max_pool",
    .infer = infer_pool,
    .rule = pool_rule,
    .reach = pool_reach,
    .grad = grad,
    .flops = pool_flops,
};

}  // namespace meshwork::ops
