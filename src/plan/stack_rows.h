#pragma once

#include <set>
#include <vector>

#include "plan/plan.h"
#include "plan/uses.h"

namespace meshwork {

/// What the stacks of a plan ask of the places of values.
struct StackRows {
  /// Values that are to stand side by side, in this order.
  std::vector<std::vector<ValueId>> rows;
  /// All that stacks give, and all operands in which their nodes differ.
  std::set<ValueId> values;
};
StackRows stack_rows(const Plan& plan, const Uses& uses);

}  // namespace meshwork
