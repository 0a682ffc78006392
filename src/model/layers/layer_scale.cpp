// y = gamma x, a factor for each place of the last dimension, which begins small (Touvron et al.,
// 2021). Keras has it for ConvNeXt.
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const std::int64_t channels = b.shape(x).back();
  const double begin = args.require_real("init_values");
  const config::Value& width = args.require("projection_dim");
  if (width.as_integer("projection_dim") != channels) {
    fail_at(width.at, "{}: projection_dim is {} for samples {}; give {}", args.what(),
            width.as_integer("projection_dim"), sample_shape(b.shape(x)), channels);
  }
  const ValueId gamma = scope.variable("gamma", {channels}, constant_initializer(begin));
  return ops::multiply(b, x, gamma);
}

}  // namespace

const LayerDef kLayerScale{
    .names = {"LayerScale"}, .build = build, .module = "keras.src.applications.convnext"};

}  // namespace meshwork::layers
