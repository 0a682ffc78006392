// DepthwiseConv1D, DepthwiseConv2D: every channel convolved with `depth_multiplier` kernels of its
// own, y[.., c multiplier + m] = activation(x[.., c] * kernel[.., c, m] + bias)
#include "model/arguments.h"
#include "model/layers/convolution.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

template <std::size_t kRank>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  ConvolutionArguments convolution = read_convolution(args, kRank);
  const Shape extents = read_extents(scope, args, inputs[0], kRank);
  const std::int64_t multiplier = read_positive_or(args, "depth_multiplier", 1);
  const auto initializer = read_initializer(args.find("depthwise_initializer"), "glorot_uniform");
  const std::int64_t channels = b.shape(inputs[0]).back();
  Windows& windows = convolution.windows;
  place(windows, args, extents);
  const ValueId kernel =
      scope.variable("kernel", kernel_shape(windows, channels, multiplier), initializer);
  const ValueId y = b.add(ops::kConvolution, {inputs[0], one_group_per_channel(b, kernel)},
                          convolution_attrs(windows, channels, windows.results));
  return finish(scope, convolution, y);
}

}  // namespace

const LayerDef kDepthwiseConv1D{.names = {"DepthwiseConv1D"}, .build = build<1>};
const LayerDef kDepthwiseConv2D{.names = {"DepthwiseConv2D"}, .build = build<2>};

}  // namespace meshwork::layers
