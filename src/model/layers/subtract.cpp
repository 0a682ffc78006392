// y = x1 - x2, elementwise
#include "model/layers/merge.h"
#include "ops/ops.h"

namespace meshwork::layers {

const LayerDef kSubtract{
    .names = {"Subtract"},
    .build =
        [](Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
          return fold(scope, args, inputs, ops::kSubtract);
        },
    .min_inputs = 2,
    .max_inputs = 2,
};

}  // namespace meshwork::layers
