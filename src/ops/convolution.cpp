// y[n, o.., f] = sum over k, c of x[n, o * stride - padding + k * dilation.., c] w[k.., c, f];
// filter f of group g reads the channels of group g. Elements outside of x are 0.
#include "base/check.h"
#include "base/error.h"
#include "ops/convolution_rule.h"
#include "ops/ops.h"
#include "ops/window.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[0].dtype == args.inputs[1].dtype);
  const Shape& x = args.inputs[0].shape;
  const Shape& w = args.inputs[1].shape;
  const auto& extents = args.attrs.integers("extents");
  const std::int64_t groups = args.attrs.integer("groups");
  MW_CHECK(x.size() == extents.size() + 2 && w.size() == x.size());
  if (w[w.size() - 2] * groups != x.back() || w.back() % groups != 0) {
    fail("cannot convolve {} channels in {} groups with a kernel of {}", x.back(), groups,
         to_string(w));
  }
  return image_type(args, w.back());
}

std::string rule(const OpArgs& args) {
  const auto texts = convolution_texts(args.attrs, args.inputs[1].shape, true);
  return texts.x + ", " + texts.w + " -> " + texts.y;
}

Reach reach(const OpArgs& args, std::size_t /*operand*/, std::size_t dim) {
  return forward_reach(window_of(args.attrs, dim - 1, args.inputs[1].shape[dim - 1]));
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const ValueId x = node.inputs[0];
  const ValueId w = node.inputs[1];
  return {b.add(kConvolutionBackwardData, {dy, w}, with_extents(node.attrs, b.shape(x))),
          b.add(kConvolutionBackwardFilter, {x, dy}, with_kernel_extents(node.attrs, b.shape(w)))};
}

double flops(const OpArgs& args) {
  return convolution_flops(args.output.shape, args.inputs[1].shape);
}

}  // namespace

const OpDef kConvolution{
    .name = "convolution",
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
