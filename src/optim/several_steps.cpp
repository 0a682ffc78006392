// a' = a + g, and in every k-th step g' = (a + g) / k, a' = 0;
// e' = m e + (1 - m) w' with m = 0 before the first k steps are over
#include "optim/several_steps.h"

#include "ops/ops.h"

namespace meshwork {
namespace {

ValueId constant(GraphBuilder& b, std::int64_t number) {
  return ops::constant(b, static_cast<double>(number));
}

/// 1 in the steps of every n-th update, else 0. Keras counts the steps that only accumulate to
/// the update before them.
ValueId is_every(WeightUpdate& update, std::int64_t n, std::int64_t steps_per_update) {
  GraphBuilder& b = update.builder();
  ValueId updates = update.iteration();
  if (steps_per_update > 1) {
    updates = ops::floor(b, ops::divide(b, updates, constant(b, steps_per_update)));
  }
  return is_multiple(b, ops::shift(b, updates, 1.0), n);
}

/// The gradients of a step are what is added to the accumulators, those of weights what an update
/// then reads of these.
void want_as_accumulated(std::span<WeightUpdate> updates, const SeveralSteps& slots) {
  if (slots.accumulators.empty()) return;
  auto& gradients = updates.front().builder().graph().gradients;
  gradients.clear();
  for (std::size_t i = 0; i < updates.size(); ++i) {
    gradients.push_back({slots.accumulators[i], updates[i].gradient()});
  }
}

}  // namespace

ValueId is_multiple(GraphBuilder& b, ValueId number, std::int64_t n) {
  const ValueId times = ops::floor(b, ops::divide(b, number, constant(b, n)));
  const ValueId whole = ops::multiply(b, times, constant(b, n));
  return ops::equal(b, number, whole);
}

SeveralSteps add_slots(std::span<WeightUpdate> updates, const CommonArguments& common) {
  SeveralSteps slots;
  if (common.ema_momentum) {
    for (WeightUpdate& update : updates) slots.averages.push_back(update.slot("average"));
  }
  if (common.steps_per_update > 1) {
    const std::string name = "gradient_accumulator";
    for (WeightUpdate& update : updates) {
      slots.accumulators.push_back(common.reduces_late ? update.slot_of_sums(name)
                                                       : update.slot(name));
    }
  }
  return slots;
}

void accumulate(std::span<WeightUpdate> updates, const SeveralSteps& slots,
                const CommonArguments& common) {
  if (common.reduces_late) want_as_accumulated(updates, slots);
  for (std::size_t i = 0; i < slots.accumulators.size(); ++i) {
    const ValueId old = slots.accumulators[i];
    updates[i].update_slot(old, ops::add(updates[i].builder(), updates[i].gradient(), old));
  }
}

void take_mean_gradients(std::span<WeightUpdate> updates, const SeveralSteps& slots,
                         const CommonArguments& common) {
  if (common.reduces_late) want_as_accumulated(updates, slots);
  for (std::size_t i = 0; i < slots.accumulators.size(); ++i) {
    GraphBuilder& b = updates[i].builder();
    const ValueId old = slots.accumulators[i];
    const ValueId sum = ops::add(b, updates[i].gradient(), old);
    if (common.reduces_late) b.graph().gradients.push_back({updates[i].variable(), sum});
    updates[i].set_gradient(ops::divide(b, sum, constant(b, common.steps_per_update)));
    updates[i].update_slot(old, ops::zeros_like(b, old));
  }
}

ValueId track_average(WeightUpdate& update, ValueId average, ValueId weight,
                      const CommonArguments& common) {
  GraphBuilder& b = update.builder();
  const ValueId began =
      b.add(ops::kGreaterEqual, {update.iteration(), constant(b, common.steps_per_update)});
  const ValueId kept = ops::scale(b, began, *common.ema_momentum);
  const ValueId taken = ops::one_minus(b, kept);
  const ValueId before = ops::multiply(b, average, kept);
  const ValueId next = ops::add(b, before, ops::multiply(b, weight, taken));
  update.update_slot(average, next);
  if (!common.ema_overwrites) return weight;
  const ValueId now = is_every(update, *common.ema_overwrites, common.steps_per_update);
  return ops::select(b, now, next, weight);
}

}  // namespace meshwork
