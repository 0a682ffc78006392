#pragma once

#include <cstdint>

#include "job/job.h"
#include "state/checkpoint.h"

namespace meshwork {

/// Steps that a run had done when this checkpoint was written, and its optimizer.
std::int64_t steps_of(const Checkpoint& checkpoint);
std::int64_t iteration_of(const Checkpoint& checkpoint);

/// Throws an Error unless the job reads the data that the run read, in the same order, so that it
/// can go on where the checkpoint was written.
void check_same_data(const Checkpoint& checkpoint, const Job& job);

}  // namespace meshwork
