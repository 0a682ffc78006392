#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "graph/builder.h"

namespace meshwork {

/// A Keras constraint with its arguments: the weight that takes the place of a new one.
using Constraint = std::function<ValueId(GraphBuilder& b, ValueId weight)>;

/// One constraint, in the list of registry.cpp: its spellings, CamelCase first, and its arguments.
struct ConstraintDef {
  std::vector<std::string_view> names;
  Constraint (*read)(config::Reader& args);
};

/// Ends the names of arguments: `kernel_constraint`.
constexpr std::string_view kConstraint = "_constraint";

const std::vector<const ConstraintDef*>& constraint_registry();

/// Reads `non_neg`, `NonNeg` or `MaxNorm: {max_value: 3}`.
Constraint read_constraint(const config::Value& spec);

namespace constraints {
extern const ConstraintDef kMaxNorm;
extern const ConstraintDef kMinMaxNorm;
extern const ConstraintDef kNonNeg;
extern const ConstraintDef kUnitNorm;
}  // namespace constraints

}  // namespace meshwork
