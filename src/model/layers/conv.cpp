// Conv1D, Conv2D, Conv3D: y = activation(x * kernel + bias)
#include "model/arguments.h"
#include "model/layers/convolution.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

void check_groups(const config::Reader& args, std::int64_t groups, std::int64_t filters,
                  std::int64_t channels) {
  if (filters % groups != 0) {
    fail_at(args.at(), "{}: filters is {}, not divisible by groups, {}", args.what(), filters,
            groups);
  }
  if (channels % groups != 0) {
    fail_at(args.at(), "{}: its input has {} channels, not divisible by groups, {}", args.what(),
            channels, groups);
  }
}

template <std::size_t kRank>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const std::int64_t filters = args.require_integer("filters", config::at_least(1));
  ConvolutionArguments convolution = read_convolution(args, kRank, kRank == 1);
  const Shape extents = read_extents(scope, args, inputs[0], kRank);
  const std::int64_t groups = args.get("groups", 1, config::at_least(1));
  const auto initializer = read_initializer(args, "kernel_initializer", "glorot_uniform");
  const std::int64_t channels = b.shape(inputs[0]).back();
  Windows& windows = convolution.windows;
  check_groups(args, groups, filters, channels);
  refuse_dilated_strides(args, windows);
  place(windows, args, extents);
  const ValueId kernel =
      scope.variable("kernel", kernel_shape(windows, channels / groups, filters), initializer);
  const ValueId y = b.add(ops::kConvolution, {inputs[0], kernel},
                          convolution_attrs(windows, groups, windows.results));
  return finish(scope, convolution, y);
}

}  // namespace

const LayerDef kConv1D{.names = {"Conv1D", "Convolution1D"}, .build = build<1>};
const LayerDef kConv2D{.names = {"Conv2D", "Convolution2D"}, .build = build<2>};
const LayerDef kConv3D{.names = {"Conv3D", "Convolution3D"}, .build = build<3>};

}  // namespace meshwork::layers
