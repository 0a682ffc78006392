// All norms are 1.
#include "model/constraints/norm.h"
#include "ops/ops.h"

namespace meshwork::constraints {
namespace {

Constraint read(config::Reader& args) {
  return read_norm(args, [](GraphBuilder& b, ValueId) { return ops::constant(b, 1.0); });
}

}  // namespace

const ConstraintDef kUnitNorm{.names = {"UnitNorm", "unit_norm"}, .read = read};

}  // namespace meshwork::constraints
