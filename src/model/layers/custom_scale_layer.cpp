// y = x1 + scale x2, the residual of Inception-ResNet (Szegedy et al., 2016), which Keras calls so
#include "model/layers/layer.h"
#include "model/layers/merge.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const double scale = args.require_real("scale");
  const std::vector<ValueId> terms = to_one_rank(scope, args, inputs);
  return ops::add(b, terms[0], ops::scale(b, terms[1], scale));
}

}  // namespace

const LayerDef kCustomScaleLayer{.names = {"CustomScaleLayer"},
                                 .build = build,
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .module = "keras.src.applications.inception_resnet_v2"};

}  // namespace meshwork::layers
