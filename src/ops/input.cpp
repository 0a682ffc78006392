// A tensor given from outside in every step, called `name`
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

const OpDef kInput{
    .name = "input",
    .infer = infer_leaf,
    .rule = leaf_rule,
    .flops = no_flops,
    .leaf = Leaf::kInput,
};

}  // namespace meshwork::ops
