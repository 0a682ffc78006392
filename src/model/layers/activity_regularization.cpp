// y = x, of which L1L2 is part of the loss
#include "model/layers/layer.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  scope.penalize(inputs[0], regularizers::kL1L2.read(args));
  return inputs[0];
}

}  // namespace

const LayerDef kActivityRegularization{
    .names = {"ActivityRegularization"}, .build = build, .passes_mask = true};

}  // namespace meshwork::layers
