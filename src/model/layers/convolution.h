#pragma once

#include <string>

#include "model/activations/activation.h"
#include "model/layers/spatial.h"

namespace meshwork::layers {

/// What the layers of convolutions have in common, as Keras names it.
struct ConvolutionArguments {
  Windows windows;  ///< not yet placed
  Activation activation;
  bool use_bias = true;
  Initializer bias_initializer;
};

/// Reads kernel_size, strides, padding, dilation_rate, activation, use_bias and bias_initializer.
ConvolutionArguments read_convolution(config::Reader& args, std::size_t rank, bool causal = false);

/// Refuses strides above 1 together with dilation rates above 1, as Keras does.
void refuse_dilated_strides(const config::Reader& args, const Windows& windows);

/// The attributes of the convolution ops: results of extents `extents`.
Attrs convolution_attrs(const Windows& windows, std::int64_t groups, const Shape& extents);

/// [window.., in, out]
Shape kernel_shape(const Windows& windows, std::int64_t in, std::int64_t out);

/// Reads depth_multiplier and depthwise_initializer; convolves every channel of x by itself with a
/// variable `kernel` [window.., channels, multiplier].
ValueId convolve_channels(Scope& scope, config::Reader& args, const Windows& windows, ValueId x,
                          const std::string& kernel);

/// activation(y + bias): the end of every layer of convolutions.
ValueId finish(Scope& scope, const ConvolutionArguments& convolution, ValueId y);

}  // namespace meshwork::layers
