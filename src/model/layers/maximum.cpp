// y = max(x1, x2, ..), elementwise
#include "model/layers/merge.h"
#include "ops/ops.h"

namespace meshwork::layers {

const LayerDef kMaximum{
    .names = {"Maximum"},
    .build =
        [](Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
          return fold_what_counts(scope, args, inputs, ops::kMaximum);
        },
    .min_inputs = 2,
    .max_inputs = kAnyNumber,
};

}  // namespace meshwork::layers
