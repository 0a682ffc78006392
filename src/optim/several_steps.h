#pragma once

#include <span>
#include <vector>

#include "optim/common.h"

namespace meshwork {

/// The slots that are kept for several steps, whatever the optimizer; of each weight in turn.
/// Programs that update and programs that only accumulate share them, so they come before the
/// optimizer's own.
struct SeveralSteps {
  std::vector<ValueId> averages;      ///< of the weights; empty without use_ema
  std::vector<ValueId> accumulators;  ///< of gradients; empty without gradient_accumulation_steps
};

/// 1 where a number from 0, a float32 scalar, is a multiple of n, else 0.
ValueId is_multiple(GraphBuilder& b, ValueId number, std::int64_t n);

/// Makes the slots, in Keras's order: all averages, then all accumulators.
SeveralSteps add_slots(std::span<WeightUpdate> updates, const CommonArguments& common);

/// Adds the gradients of a step to those before it.
void accumulate(std::span<WeightUpdate> updates, const SeveralSteps& slots,
                const CommonArguments& common);

/// Gives every update the mean of the gradients since the last one, and begins anew.
void take_mean_gradients(std::span<WeightUpdate> updates, const SeveralSteps& slots,
                         const CommonArguments& common);

/// Takes `weight`, what an update gives or, between updates, has left, into the average. Returns
/// what the weight becomes: this, or the average where it is time to put it in place.
ValueId track_average(WeightUpdate& update, ValueId average, ValueId weight,
                      const CommonArguments& common);

}  // namespace meshwork
