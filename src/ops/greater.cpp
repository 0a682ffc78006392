// y = 1 where a > b, else 0; float32 whatever is compared
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {

const OpDef kGreater{
    .name = "greater",
    .infer = infer_comparison,
    .rule = elementwise_rule,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
