// y = 1 where a >= b, else 0; bfloat16 of bfloat16, float32 of all else
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {

const OpDef kGreaterEqual{
    .name = "greater_equal",
    .infer = infer_comparison,
    .rule = elementwise_rule,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
