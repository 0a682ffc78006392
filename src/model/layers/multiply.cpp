// y = x1 x2 .., elementwise
#include "model/layers/merge.h"
#include "ops/ops.h"

namespace meshwork::layers {

const LayerDef kMultiply{
    .names = {"Multiply"},
    .build = build_fold<ops::kMultiply>,
    .min_inputs = 2,
    .max_inputs = kAnyNumber,
};

}  // namespace meshwork::layers
