#include "model/layers/convolution.h"

#include <algorithm>

#include "model/arguments.h"
#include "ops/ops.h"

namespace meshwork::layers {

ConvolutionArguments read_convolution(config::Reader& args, std::size_t rank, bool causal) {
  ConvolutionArguments convolution;
  convolution.windows.window = read_numbers(args, "kernel_size", rank, {});
  convolution.windows.strides = read_numbers(args, "strides", rank, 1);
  convolution.windows.padding = read_padding(args, causal);
  convolution.windows.dilations = read_numbers(args, "dilation_rate", rank, 1);
  convolution.activation = read_activation(args.find("activation"));
  convolution.use_bias = args.get("use_bias", true);
  convolution.bias_initializer = read_initializer(args, "bias_initializer", "zeros");
  refuse_arguments(args, {"lora_rank", "lora_alpha", "quantization_config"});
  return convolution;
}

void refuse_dilated_strides(const config::Reader& args, const Windows& windows) {
  const auto above_one = [](std::int64_t number) { return number > 1; };
  if (std::any_of(windows.strides.begin(), windows.strides.end(), above_one) &&
      std::any_of(windows.dilations.begin(), windows.dilations.end(), above_one)) {
    fail_at(args.at(), "{}: strides {} and dilation_rate {} are both above 1; give one of them",
            args.what(), to_string(windows.strides), to_string(windows.dilations));
  }
}

Attrs convolution_attrs(const Windows& windows, std::int64_t groups, const Shape& extents) {
  return {{"strides", windows.strides},
          {"padding", windows.before},
          {"dilations", windows.dilations},
          {"groups", groups},
          {"extents", extents}};
}

Shape kernel_shape(const Windows& windows, std::int64_t in, std::int64_t out) {
  Shape shape = windows.window;
  shape.push_back(in);
  shape.push_back(out);
  return shape;
}

ValueId convolve_channels(Scope& scope, config::Reader& args, const Windows& windows, ValueId x,
                          const std::string& kernel) {
  GraphBuilder& b = scope.builder();
  const std::int64_t multiplier = args.get("depth_multiplier", 1, config::at_least(1));
  const auto initializer = read_initializer(args, "depthwise_initializer", "glorot_uniform");
  const std::int64_t channels = b.shape(x).back();
  const ValueId w =
      scope.variable(kernel, kernel_shape(windows, channels, multiplier), initializer);
  // One group for each channel: [window.., 1, channels multiplier].
  const Shape grouped = kernel_shape(windows, 1, channels * multiplier);
  return b.add(ops::kConvolution, {x, ops::reshape(b, w, grouped)},
               convolution_attrs(windows, channels, windows.results));
}

ValueId finish(Scope& scope, const ConvolutionArguments& convolution, ValueId y) {
  GraphBuilder& b = scope.builder();
  const ValueId bias = scope.optional_variable(convolution.use_bias, "use_bias: false", "bias",
                                               {b.shape(y).back()}, convolution.bias_initializer);
  if (bias != kNoValue) y = ops::add(b, y, bias);
  return convolution.activation(b, y);
}

}  // namespace meshwork::layers
