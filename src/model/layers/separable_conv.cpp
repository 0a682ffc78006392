// SeparableConv1D, SeparableConv2D: a depthwise convolution, then one of 1x1 that mixes channels
#include "model/layers/convolution.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// x [n, extents.., in] times kernel [1.., in, out], at every place of its own.
ValueId mix_channels(GraphBuilder& b, ValueId x, ValueId kernel) {
  const Shape extents(b.shape(x).begin() + 1, b.shape(x).end() - 1);
  const Shape ones(extents.size(), 1);
  const Shape zeros(extents.size(), 0);
  const Windows windows{.window = ones,
                        .strides = ones,
                        .dilations = ones,
                        .padding = Padding::kValid,
                        .before = zeros,
                        .results = extents};
  return b.add(ops::kConvolution, {x, kernel}, convolution_attrs(windows, 1, extents));
}

template <std::size_t kRank>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const std::int64_t filters = args.require_integer("filters", config::at_least(1));
  ConvolutionArguments convolution = read_convolution(args, kRank);
  const Shape extents = read_extents(scope, args, inputs[0], kRank);
  place(convolution.windows, args, extents);
  const ValueId deep =
      convolve_channels(scope, args, convolution.windows, inputs[0], "depthwise_kernel");
  const auto pointwise = read_initializer(args, "pointwise_initializer", "glorot_uniform");
  Shape mixing(kRank, 1);
  mixing.push_back(b.shape(deep).back());
  mixing.push_back(filters);
  const ValueId mixed =
      mix_channels(b, deep, scope.variable("pointwise_kernel", mixing, pointwise));
  return finish(scope, convolution, mixed);
}

}  // namespace

const LayerDef kSeparableConv1D{.names = {"SeparableConv1D", "SeparableConvolution1D"},
                                .build = build<1>};
const LayerDef kSeparableConv2D{.names = {"SeparableConv2D", "SeparableConvolution2D"},
                                .build = build<2>};

}  // namespace meshwork::layers
