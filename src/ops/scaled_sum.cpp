// y = factor times the sum of x over `axes`: a mean over all elements of the global tensor
#include "ops/elementwise.h"
#include "ops/ops.h"
#include "ops/reduce.h"

namespace meshwork::ops {
namespace {

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const Shape shape = b.shape(node.inputs[0]);
  const ValueId scaled = scale(b, dy, node.attrs.real("factor"));
  return {broadcast_to(b, reshape(b, scaled, kept_shape(shape, node.attrs)), shape)};
}

double flops(const OpArgs& args) {
  return reduce_flops(args) + static_cast<double>(num_elements(args.output.shape));
}

}  // namespace

const OpDef kScaledSum{
    .name = "scaled_sum",
    .infer = infer_reduce,
    .rule = reduce_rule,
    .grad = grad,
    .flops = flops,
    .linear = Linear::kJointly,
};

}  // namespace meshwork::ops
