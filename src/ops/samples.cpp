// All that is stored of the field `name` of the data, [n, ..]: every device has it from before the
// first step on, outside of what a program may write, at any alignment
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

const OpDef kSamples{
    .name = "samples",
    .infer = infer_leaf,
    .rule = leaf_rule,
    .flops = no_flops,
    .leaf = Leaf::kSamples,
};

}  // namespace meshwork::ops
