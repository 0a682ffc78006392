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
  return config::read_named(constraint_registry(), config::read_class(spec, "constraint"),
                            "constraint");
}

}  // namespace meshwork
