// y = min(x1, x2, ..), elementwise
#include "model/layers/merge.h"
#include "ops/ops.h"

namespace meshwork::layers {

const LayerDef kMinimum{
    .names = {"Minimum"},
    .build =
        [](Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
          return fold_what_counts(scope, args, inputs, ops::kMinimum);
        },
    .min_inputs = 2,
    .max_inputs = kAnyNumber,
};

}  // namespace meshwork::layers
