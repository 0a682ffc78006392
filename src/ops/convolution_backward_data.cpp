// The gradient of a convolution with respect to its image, which is the transposed convolution:
// x[n, i.., c] = sum over f and o, k with o * stride - padding + k * dilation = i of
// y[n, o.., f] w[k.., c, f]; strides, padding, dilations, groups are those of the convolution,
// `extents` those of x.
#include "base/check.h"
#include "base/error.h"
#include "ops/convolution_rule.h"
#include "ops/ops.h"
#include "ops/window.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[0].dtype == args.inputs[1].dtype);
  const Shape& y = args.inputs[0].shape;
  const Shape& w = args.inputs[1].shape;
  const auto& extents = args.attrs.integers("extents");
  const std::int64_t groups = args.attrs.integer("groups");
  MW_CHECK(y.size() == extents.size() + 2 && w.size() == y.size());
  if (w.back() != y.back() || w.back() % groups != 0) {
    fail("cannot convolve {} channels in {} groups, transposed, with a kernel of {}", y.back(),
         groups, to_string(w));
  }
  return image_type(args, w[w.size() - 2] * groups);
}

std::string rule(const OpArgs& args) {
  const auto texts = convolution_texts(args.attrs, args.inputs[1].shape, false);
  return texts.y + ", " + texts.w + " -> " + texts.x;
}

Reach reach(const OpArgs& args, std::size_t /*operand*/, std::size_t dim) {
  return backward_reach(window_of(args.attrs, dim - 1, args.inputs[1].shape[dim - 1]));
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dx) {
  const Node node = b.node(self);
  const ValueId y = node.inputs[0];
  const ValueId w = node.inputs[1];
  return {b.add(kConvolution, {dx, w}, with_extents(node.attrs, b.shape(y))),
          b.add(kConvolutionBackwardFilter, {dx, y}, with_kernel_extents(node.attrs, b.shape(w)))};
}

double flops(const OpArgs& args) {
  return convolution_flops(args.inputs[0].shape, args.inputs[1].shape);
}

}  // namespace

const OpDef kConvolutionBackwardData{
    .name = "convolution_backward_data",
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
