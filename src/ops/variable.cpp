// The value that the variable `path` has during a step; `dims`: which dimensions of its weight a
// slot has, where not all; `sums`: all that it takes are sums over the batch, of which each device
// may keep its own
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
