#pragma once

#include "plan/plan.h"

namespace meshwork::testing {

/// CHECKs that a plan's memory holds what each instruction reads, in any order of passes side by
/// side, and at the end all results and new values of variables.
void check_memory(const Plan& plan);

}  // namespace meshwork::testing
