#pragma once

#include <cstddef>
#include <vector>

#include "backend/backend.h"
#include "plan/plan.h"

namespace meshwork {

/// Steps [begin, end) of a program.
struct StepRange {
  std::size_t begin;
  std::size_t end;
};

/// Seconds, roughly, in which an instruction leaves all threads of the device but one idle; 0 if it
/// may need them.
double idle_seconds(const Backend& backend, const Graph& program, const Instruction& instruction);

/// Ranges of steps, of such seconds each, that together take long enough to have something else
/// done meanwhile.
std::vector<StepRange> long_enough(const std::vector<double>& seconds);

}  // namespace meshwork
