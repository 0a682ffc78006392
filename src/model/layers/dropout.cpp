// y = x / (1 - rate) with probability 1 - rate, else 0; in training only. Dropout draws for every
// element, SpatialDropout for every channel of a sample, StochasticDepth (Huang et al., 2016) for
// every sample.
#include "model/layers/layer.h"
#include "model/layers/noise.h"
#include "model/layers/spatial.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const double rate = args.require_real("rate", config::between(0, 1));
  const std::int64_t stream = read_stream(scope, args);
  const Shape mask = read_noise_shape(args, scope.builder().shape(inputs[0]));
  return drop(scope, inputs[0], rate, stream, mask);
}

template <std::size_t kRank>
ValueId build_spatial(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const double rate = args.require_real("rate", config::between(0, 1));
  const std::int64_t stream = read_stream(scope, args);
  read_extents(scope, args, inputs[0], kRank);
  Shape mask = scope.builder().shape(inputs[0]);
  for (std::size_t i = 1; i <= kRank; ++i) mask[i] = 1;
  return drop(scope, inputs[0], rate, stream, mask);
}

ValueId build_stochastic_depth(Scope& scope, config::Reader& args,
                               std::span<const ValueId> inputs) {
  const double rate = args.require_real("drop_path_rate", config::between(0, 1));
  const std::int64_t stream = scope.random_key(std::nullopt);
  Shape mask(scope.builder().shape(inputs[0]).size(), 1);
  mask[0] = scope.builder().shape(inputs[0])[0];
  return drop(scope, inputs[0], rate, stream, mask);
}

}  // namespace

const LayerDef kDropout{.names = {"Dropout"}, .build = build, .passes_mask = true};
const LayerDef kSpatialDropout1D{
    .names = {"SpatialDropout1D"}, .build = build_spatial<1>, .passes_mask = true};
const LayerDef kSpatialDropout2D{
    .names = {"SpatialDropout2D"}, .build = build_spatial<2>, .passes_mask = true};
const LayerDef kSpatialDropout3D{
    .names = {"SpatialDropout3D"}, .build = build_spatial<3>, .passes_mask = true};
const LayerDef kStochasticDepth{.names = {"StochasticDepth"},
                                .build = build_stochastic_depth,
                                .module = "keras.src.applications.convnext"};

}  // namespace meshwork::layers
