// y = gamma (x - mean) / sqrt(variance + epsilon) + beta, the statistics over `axis` of each sample
#include "model/arguments.h"
#include "model/layers/normalization.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// Keras's `rms_scaling`: gamma x / sqrt(variance + epsilon).
ValueId scale_by_deviation(Scope& scope, NormalizationArguments arguments, ValueId x,
                           const std::vector<std::int64_t>& axes) {
  GraphBuilder& b = scope.builder();
  const ValueId centered = ops::subtract(b, x, ops::reduce_mean(b, x, axes, true));
  const ValueId square = ops::square(b, centered);
  const ValueId variance = ops::reduce_mean(b, square, axes, true);
  const ValueId y = ops::multiply(b, x, inverse_deviation(b, variance, arguments.epsilon));
  arguments.scale = true;
  arguments.center = false;
  arguments.no_center = "rms_scaling: true";
  return scale_and_center(scope, arguments, y, axes);
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const auto axes = read_sample_axes(args, b.shape(inputs[0]).size());
  const NormalizationArguments arguments = read_normalization(args);
  if (args.get("rms_scaling", false)) {
    return scale_by_deviation(scope, arguments, inputs[0], axes);
  }
  return scale_and_center(scope, arguments, standardize(b, inputs[0], axes, arguments.epsilon),
                          axes);
}

}  // namespace

const LayerDef kLayerNormalization{.names = {"LayerNormalization"},
                                   .build = build,
                                   .inside = Inside::kFloat32,
                                   .passes_mask = true};

}  // namespace meshwork::layers
