// y = the greatest x over `axes`; where several are equal, they share the gradient equally
#include "ops/ops.h"
#include "ops/reduce.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const ValueId x = node.inputs[0];
  const Shape kept = kept_shape(b.shape(x), node.attrs);
  const ValueId max = reshape(b, self, kept);
  const ValueId is_max = equal(b, x, max);
  const ValueId count = reduce_sum(b, is_max, node.attrs.integers("axes"), true);
  const ValueId share = divide(b, reshape(b, dy, kept), count);
  return {multiply(b, is_max, share)};
}

}  // namespace

const OpDef kReduceMax{
    .name = "reduce_max",
    .infer = infer_reduce,
    .rule = reduce_rule,
    .grad = grad,
    .flops = reduce_flops,
    .reduction = Reduction::kMax,
};

ValueId reduce_max(GraphBuilder& b, ValueId x, std::vector<std::int64_t> axes, bool keepdims) {
  if (axes.empty()) return x;
  return b.add(kReduceMax, {x}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
}

}  // namespace meshwork::ops
