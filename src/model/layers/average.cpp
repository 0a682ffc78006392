// y = (x1 + x2 + ..) / count, elementwise
#include "model/layers/merge.h"
#include "ops/ops.h"

namespace meshwork::layers {

const LayerDef kAverage{
    .names = {"Average"},
    .build =
        [](Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
          const ValueId sum = fold(scope, args, inputs, ops::kAdd);
          return ops::scale(scope.builder(), sum, 1 / static_cast<double>(inputs.size()));
        },
    .min_inputs = 2,
    .max_inputs = kAnyNumber,
};

}  // namespace meshwork::layers
