#include "config/lookup.h"
#include "model/constraints/constraint.h"

namespace meshwork {

const std::vector<const ConstraintDef*>& constraint_registry() {
  static const std::vector<const ConstraintDef*> registry = {
      &constraints::kMaxNorm,
      &constraints::kMinMaxNorm,
      &constraints::kNonNeg,
      &constraints::kUnitNorm,
  };
  return registry;
}

Constraint read_constraint(const config::Value& spec) {
  const config::ClassSpec constraint = config::read_class(spec, "constraint");
  const ConstraintDef& def = config::look_up(constraint_registry(), constraint, "constraint");
  config::Reader args(constraint.args, fmt::format("constraint {}", constraint.name));
  Constraint result = def.read(args);
  args.finish();
  return result;
}

}  // namespace meshwork
