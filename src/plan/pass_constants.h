#pragma once

#include "plan/fusion_groups.h"
#include "plan/plan.h"

namespace meshwork {

/// Gives each pass the constants of float32 that it reads as members of its own: a number that its
/// kernel knows takes no kernel and no place. A constant stays where something else reads it.
Fused take_constants_in(Fused fused);

/// The first value that an instruction gives and not only takes in: what it is called by.
ValueId first_result(const Graph& program, const Instruction& instruction);

}  // namespace meshwork
