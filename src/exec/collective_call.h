#pragma once

#include <vector>

#include "comm/communicator.h"
#include "plan/plan.h"

namespace meshwork {

/// The collective of a local program, or all-reduces that are joined into one: their results stand
/// one after the other, aligned for the target, and what stands between them is reduced, too. Its
/// buffers are not said.
CollectiveCall collective_call(const Graph& program, const std::vector<ValueId>& nodes,
                               const Target& target);

}  // namespace meshwork
