#pragma once

#include <cstdint>
#include <string>

#include "model/model.h"

namespace meshwork {

/// What a program is for. All over one configuration share their variables, weights first.
enum class ProgramKind {
  kInitialize,  ///< gives every variable its initial value
  kTrain,       ///< forward, backward, update
  kEvaluate,    ///< loss and metrics
  kPredict,     ///< the output of the model
  kAccumulate,  ///< forward, backward; gradients are kept for the next kTrain
  kDecode,      ///< reads a part of each sequence and says what comes next
  kAverage,     ///< puts the averages that the optimizer keeps in the place of the weights
  kReduce,      ///< adds up what devices keep apart, so that one of them has all of it
};

/// The model that a program of this kind is built from.
Mode mode_of(ProgramKind kind);

/// Whether a program has a backward pass.
bool trains(ProgramKind kind);

/// Whether a program has neither inputs nor layers.
bool only_updates(ProgramKind kind);

/// "a training step with a batch of 128".
std::string describe(ProgramKind kind, std::int64_t batch);

/// How a user makes the batches of a program smaller: "lower fit.batch_size"; "" for one that has
/// none.
std::string smaller_batch(ProgramKind kind);

}  // namespace meshwork
