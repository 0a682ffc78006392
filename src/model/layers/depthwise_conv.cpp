// DepthwiseConv1D, DepthwiseConv2D: every channel convolved with `depth_multiplier` kernels of its
// own, y[.., c multiplier + m] = activation(x[.., c] * kernel[.., c, m] + bias)
#include "model/layers/convolution.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

template <std::size_t kRank>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  ConvolutionArguments convolution = read_convolution(args, kRank);
  place(convolution.windows, args, read_extents(scope, args, inputs[0], kRank));
  return finish(scope, convolution,
                convolve_channels(scope, args, convolution.windows, inputs[0], "kernel"));
}

}  // namespace

const LayerDef kDepthwiseConv1D{.names = {"DepthwiseConv1D"}, .build = build<1>};
const LayerDef kDepthwiseConv2D{.names = {"DepthwiseConv2D"}, .build = build<2>};

}  // namespace meshwork::layers
