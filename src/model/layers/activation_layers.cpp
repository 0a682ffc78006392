// ReLU, LeakyReLU, ELU, Softmax: activations as layers of their own, and Identity
#include "model/activations/activation.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build_leaky_relu(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const double slope = args.get("negative_slope", 0.3);  // the activation's default is 0.2
  const ValueId positive = b.add(ops::kGreaterEqual, {inputs[0], ops::constant(b, 0.0)});
  return b.add(ops::kSelect, {positive, inputs[0], ops::scale(b, inputs[0], slope)});
}

}  // namespace

const LayerDef kElu{
    .names = {"ELU"},
    .build =
        [](Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
          return activations::kElu.read(args)(scope.builder(), inputs[0]);
        },
};

const LayerDef kIdentity{
    .names = {"Identity"},
    .build = [](Scope&, config::Reader&, std::span<const ValueId> inputs) { return inputs[0]; },
};

const LayerDef kLeakyRelu{.names = {"LeakyReLU"}, .build = build_leaky_relu};

const LayerDef kRelu{
    .names = {"ReLU"},
    .build =
        [](Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
          return activations::kRelu.read(args)(scope.builder(), inputs[0]);
        },
};

const LayerDef kSoftmax{
    .names = {"Softmax"},
    .build =
        [](Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
          return activations::kSoftmax.read(args)(scope.builder(), inputs[0]);
        },
};

}  // namespace meshwork::layers
