// y = sum of x over `axes`
#include "ops/ops.h"
#include "ops/reduce.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const Shape shape = b.shape(node.inputs[0]);
  return {broadcast_to(b, reshape(b, dy, kept_shape(shape, node.attrs)), shape)};
}

}  // namespace

const OpDef kReduceSum{
    .name = "reduce_sum",
    .infer = infer_reduce,
    .rule = reduce_rule,
    .grad = grad,
    .flops = reduce_flops,
    .linear = Linear::kJointly,
    .wide_result = true,
    .sums = true,
};

ValueId reduce_sum(GraphBuilder& b, ValueId x, std::vector<std::int64_t> axes, bool keepdims) {
  if (axes.empty()) return x;
  return b.add(kReduceSum, {x}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
}

ValueId reduce_mean(GraphBuilder& b, ValueId x, std::vector<std::int64_t> axes, bool keepdims) {
  double count = 1;
  for (const std::int64_t axis : axes) {
    count *= static_cast<double>(b.shape(x)[static_cast<std::size_t>(axis)]);
  }
  // The global count: a mean is a sum whose partial results add up.
  return scale(b, reduce_sum(b, x, std::move(axes), keepdims), count == 0 ? 0 : 1 / count);
}

}  // namespace meshwork::ops
