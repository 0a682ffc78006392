// The gradient of a convolution with respect to its kernel:
// w[k.., c, f] = sum over n, o of x[n, o * stride - padding + k * dilation.., c] y[n, o.., f];
// strides, padding, dilations, groups are those of the convolution, `extents` those of w.
#include "base/check.h"
#include "ops/convolution_rule.h"
#include "ops/ops.h"
#include "ops/result_dtype.h"
#include "ops/window.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[0].dtype == args.inputs[1].dtype);
  const Shape& x = args.inputs[0].shape;
  const Shape& y = args.inputs[1].shape;
  const auto& extents = args.attrs.integers("extents");
  const std::int64_t groups = args.attrs.integer("groups");
  MW_CHECK(x.size() == y.size() && x.size() == extents.size() + 2 && x.front() == y.front());
  MW_CHECK(x.back() % groups == 0 && y.back() % groups == 0);
  TensorType result{result_dtype(args), extents};
  result.shape.push_back(x.back() / groups);
  result.shape.push_back(y.back());
  return result;
}

std::string rule(const OpArgs& args) {
  const auto texts = convolution_texts(args.attrs, args.output.shape, true);
  return texts.x + ", " + texts.y + " -> " + texts.w;
}

Reach reach(const OpArgs& args, std::size_t /*operand*/, std::size_t dim) {
  return forward_reach(window_of(args.attrs, dim - 1, args.output.shape[dim - 1]));
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dw) {
  const Node node = b.node(self);
  const ValueId x = node.inputs[0];
  const ValueId y = node.inputs[1];
  return {b.add(kConvolutionBackwardData, {y, dw}, with_extents(node.attrs, b.shape(x))),
          b.add(kConvolution, {x, dw}, with_extents(node.attrs, b.shape(y)))};
}

double flops(const OpArgs& args) {
  return convolution_flops(args.inputs[1].shape, args.output.shape);
}

}  // namespace

const OpDef kConvolutionBackwardFilter{
    .name = "convolution_backward_filter",
    .infer = infer,
    .rule = rule,
    .reach = reach,
    .grad = grad,
    .flops = flops,
    .linear = Linear::kEach,
    .wide_result = true,
    .sums_parts = true,
};

}  // namespace meshwork::ops
