// y = activation(x)
#include "model/activations/activation.h"
#include "model/arguments.h"
#include "model/layers/layer.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const bool is_linear = is_null(args, "activation");
  return read_activation(is_linear ? nullptr : &args.require("activation"))(scope.builder(),
                                                                            inputs[0]);
}

}  // namespace

const LayerDef kActivation{
    .names = {"Activation"}, .build = build, .passes_mask = true, .is_activation = true};

}  // namespace meshwork::layers
