#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "ops/cases.h"

namespace meshwork {

/// Compares the gradients of loss = sum(y * random weights), built by the op's own rule, with
/// central differences of fourth order, at up to 40 elements of each differentiable operand.
/// One line for each element that is off by more than the case's gradient tolerance (relative and
/// absolute), and for each gradient that is missing or has a wrong type; empty if all is right.
std::vector<std::string> gradcheck(const OpCase& op_case, Backend& backend);

}  // namespace meshwork
