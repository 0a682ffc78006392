// max(w, 0)
#include "model/constraints/constraint.h"
#include "ops/ops.h"

namespace meshwork::constraints {

const ConstraintDef kNonNeg{
    .names = {"NonNeg", "non_neg"},
    .read = [](config::Reader&) -> Constraint {
      return [](GraphBuilder& b, ValueId w) { return b.add(ops::kRelu, {w}); };
    },
};

}  // namespace meshwork::constraints
