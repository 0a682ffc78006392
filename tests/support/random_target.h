#pragma once

#include <cstdint>
#include <functional>

#include "target.h"

namespace meshwork::testing {

/// Makes of the CPU's target one with other thresholds, so low now and then that small programs
/// reach them, and with some of all fusions, those of GPUs among them. The CPU computes it. The
/// same seed gives the same target.
std::function<void(Target&)> random_target(std::uint64_t seed);

}  // namespace meshwork::testing
