// The value that the variable `path` has during a step
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

const OpDef kVariable{
    .name = "variable",
    .infer = infer_leaf,
    .rule = leaf_rule,
    .flops = no_flops,
    .leaf = Leaf::kVariable,
};

}  // namespace meshwork::ops
