// Conv1DTranspose, Conv2DTranspose, Conv3DTranspose: the gradient of a convolution as a layer.
// Sizes and padding are those of Keras on JAX.
#include <algorithm>

#include "model/arguments.h"
#include "model/layers/convolution.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

void check_output_padding(const config::Reader& args, const Shape& padding, const Shape& strides) {
  for (std::size_t i = 0; i < padding.size(); ++i) {
    if (padding[i] < strides[i]) continue;
    fail_at(args.at(), "{}: output_padding {} must be less than strides {} in every dimension",
            args.what(), to_string(padding), to_string(strides));
  }
}

/// The place of windows along one dimension: `added` is output_padding, where it is given.
void place_one(Windows& windows, std::size_t i, std::int64_t extent,
               const std::optional<Shape>& added) {
  const std::int64_t stride = windows.strides[i];
  const std::int64_t span = (windows.window[i] - 1) * windows.dilations[i] + 1;
  if (windows.padding == Padding::kValid) {
    const std::int64_t extra = added ? (*added)[i] : std::max(stride - span, std::int64_t{0});
    windows.before.push_back(0);
    windows.results.push_back((extent - 1) * stride + span + extra);
    return;
  }
  // Elements of padding of the convolution over y, with zeros between, that gives x.
  const std::int64_t padding = added ? span + span % 2 - 2 + (*added)[i] : stride + span - 2;
  const std::int64_t left = std::min((padding + 1) / 2, span - 1);
  windows.before.push_back(span - 1 - left);
  windows.results.push_back((extent - 1) * stride + padding - span + 2);
}

void place_transposed(Windows& windows, const config::Reader& args, const Shape& extents,
                      const std::optional<Shape>& added) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    place_one(windows, i, extents[i], added);
    if (windows.results[i] > 0) continue;
    fail_at(args.at(), "{}: the output would have no elements along dimension {} of {}",
            args.what(), i, to_string(extents));
  }
}

template <std::size_t kRank>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const std::int64_t filters = args.require_integer("filters", config::at_least(1));
  ConvolutionArguments convolution = read_convolution(args, kRank);
  const Shape extents = read_extents(scope, args, inputs[0], kRank);
  std::optional<Shape> added;
  if (args.find("output_padding") != nullptr) {
    added = read_numbers(args, "output_padding", kRank, 0, 0);
    check_output_padding(args, *added, convolution.windows.strides);
  }
  const auto initializer = read_initializer(args, "kernel_initializer", "glorot_uniform");
  Windows& windows = convolution.windows;
  refuse_dilated_strides(args, windows);
  place_transposed(windows, args, extents, added);
  const std::int64_t channels = b.shape(inputs[0]).back();
  const ValueId kernel =
      scope.variable("kernel", kernel_shape(windows, filters, channels), initializer);
  const ValueId y = b.add(ops::kConvolutionBackwardData, {inputs[0], kernel},
                          convolution_attrs(windows, 1, windows.results));
  return finish(scope, convolution, y);
}

}  // namespace

const LayerDef kConv1DTranspose{.names = {"Conv1DTranspose", "Convolution1DTranspose"},
                                .build = build<1>};
const LayerDef kConv2DTranspose{.names = {"Conv2DTranspose", "Convolution2DTranspose"},
                                .build = build<2>};
const LayerDef kConv3DTranspose{.names = {"Conv3DTranspose", "Convolution3DTranspose"},
                                .build = build<3>};

}  // namespace meshwork::layers
