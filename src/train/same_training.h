#pragma once

#include <string>
#include <vector>

#include "job/job.h"
#include "state/checkpoint.h"

namespace meshwork {

/// A run that is resumed goes on as the same model, with the same loss. Throws an Error where a
/// layer computes something else from its weights than in the run that wrote the checkpoint, or
/// where loss, loss weights, class weights, the labels that they take or masked tokens are others:
/// what logs, callbacks and best values hold is of those. What only training sees (dropout,
/// augmentation, regularizers, what is frozen, arguments of the optimizer, precision) may change:
/// the result is what to tell of it, a line for each.
std::vector<std::string> check_same_training(const Checkpoint& checkpoint, const Job& job);

}  // namespace meshwork
