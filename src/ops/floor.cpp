// y = the largest integer that is not above x
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {

const OpDef kFloor{
    .name = "floor",
    .infer = infer_unary,
    .rule = elementwise_rule,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
