// y = activation(x)
#include "model/activations/activation.h"
#include "model/layers/layer.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const config::Value& activation = args.require("activation");
  return read_activation(&activation)(scope.builder(), inputs[0]);
}

}  // namespace

const LayerDef kActivation{.names = {"Activation"}, .build = build, .passes_mask = true};

}  // namespace meshwork::layers
