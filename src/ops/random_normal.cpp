// y normal with mean `mean` and standard deviation `stddev`
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

const OpDef kRandomNormal{
    .name = "random_normal",
    .infer = infer_random,
    .rule = leaf_rule,
};

}  // namespace meshwork::ops
