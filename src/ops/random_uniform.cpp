// y uniform in [low, high)
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

const OpDef kRandomUniform{
    .name = "random_uniform",
    .infer = infer_random,
    .rule = leaf_rule,
};

}  // namespace meshwork::ops
