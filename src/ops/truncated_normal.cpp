// y normal with `mean` and `stddev`, redrawn until within two `stddev` of the mean
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

const OpDef kTruncatedNormal{
    .name = "truncated_normal",
    .infer = infer_random,
    .rule = leaf_rule,
};

}  // namespace meshwork::ops
