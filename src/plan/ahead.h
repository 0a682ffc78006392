#pragma once

#include <vector>

#include "plan/calls.h"

namespace meshwork {

/// The all-gathers that wait for nothing but variables, as those of weights do: numbers of calls,
/// in the order in which their results are read.
/// `before`: the predecessors of each node.
std::vector<int> gathers_ahead(const Graph& program, const ValueMap<std::vector<ValueId>>& before,
                               const std::vector<Call>& calls, const Units& units);

}  // namespace meshwork
