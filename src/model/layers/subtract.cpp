// y = x1 - x2, elementwise
#include "model/layers/merge.h"
#include "ops/ops.h"

namespace meshwork::layers {

const LayerDef kSubtract{
    .names = {"Subtract"},
    .build = build_fold<ops::kSubtract>,
    .min_inputs = 2,
    .max_inputs = 2,
};

}  // namespace meshwork::layers
