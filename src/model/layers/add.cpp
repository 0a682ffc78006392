// y = x1 + x2 + .., elementwise
#include "model/layers/merge.h"
#include "ops/ops.h"

namespace meshwork::layers {

const LayerDef kAdd{
    .names = {"Add"},
    .build = [](Scope& scope, config::Reader& args,
                std::span<const ValueId> inputs) { return fold(scope, args, inputs, ops::kAdd); },
    .min_inputs = 2,
    .max_inputs = kAnyNumber,
};

}  // namespace meshwork::layers
