// y = -1, 0 or 1, as x is below, at or above 0
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {

const OpDef kSign{
    .name = "sign",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
