#include "optim/optimizer.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "ops/ops.h"
#include "optim/common.h"
#include "optim/loss_scale.h"
#include "optim/rule.h"
#include "optim/schedules/schedule.h"
#include "optim/several_steps.h"

namespace meshwork {
namespace {

const std::vector<const OptimizerDef*>& registry() {
  static const std::vector<const OptimizerDef*> registry = {
      &optimizers::kAdadelta, &optimizers::kAdafactor,
      &optimizers::kAdagrad,  &optimizers::kAdam,
      &optimizers::kAdamax,   &optimizers::kAdamW,
      &optimizers::kFtrl,     &optimizers::kLamb,
      &optimizers::kLion,     &optimizers::kMuon,
      &optimizers::kNadam,    &optimizers::kRmsProp,
      &optimizers::kSgd,      &optimizers::kScheduleFreeAdamW,
  };
  return registry;
}

const OptimizerDef& find_optimizer(const config::ClassSpec& spec) {
  std::vector<std::string> known;
  for (const OptimizerDef* def : registry()) {
    for (const std::string_view name : def->names) {
      if (config::same_class(name, spec.name)) return *def;
      known.emplace_back(name);
    }
  }
  known.emplace_back(config::kLossScaleOptimizer);
  fail_at(spec.at, "there is no optimizer '{}'{}", spec.name, suggestion(spec.name, known));
}

/// An optimizer with its arguments.
struct Optimizer {
  std::optional<LossScaling> scaling;  ///< around it
  CommonArguments common;
  Schedule learning_rate;
  bool has_schedule = false;
  UpdateRule rule;
};

/// The optimizer that updates weights: what a LossScaleOptimizer is around, or itself.
config::ClassSpec updating(const config::ClassSpec& spec) {
  return scales_losses(spec) ? read_loss_scaling(spec).inner : spec;
}

Optimizer read_optimizer(const config::ClassSpec& spec) {
  Optimizer optimizer;
  if (scales_losses(spec)) optimizer.scaling = read_loss_scaling(spec);
  const config::ClassSpec inner = updating(spec);
  const OptimizerDef& def = find_optimizer(inner);
  config::Reader args(inner.args, fmt::format("optimizer {}", inner.name));
  optimizer.has_schedule = schedule_of(spec).has_value();
  optimizer.learning_rate = read_schedule(args.find("learning_rate"), def.learning_rate);
  optimizer.common = read_common(args, def);
  if (optimizer.scaling) {
    optimizer.common.loss_scale_factor.reset();  // as Keras does
    optimizer.common.reduces_late = false;
  }
  optimizer.rule = def.read(args);
  args.finish();
  return optimizer;
}

/// A value that is appended when it is first asked for, whichever copy is asked.
std::function<ValueId()> appended_once(std::function<ValueId()> append) {
  return [append = std::move(append), known = std::make_shared<ValueId>(kNoValue)] {
    if (*known == kNoValue) *known = append();
    return *known;
  };
}

/// Those that the host gives.
StepNumbers given_numbers(GraphBuilder& b) {
  return {appended_once([&b] {
            return ops::input(b, names::kLearningRate, {DType::kFloat32, {}});
          }),
          appended_once([&b] {
            const ValueId number = ops::input(b, names::kIteration, {DType::kInt64, {}});
            return ops::cast(b, number, DType::kFloat32);
          })};
}

/// Of an optimizer that counts its steps itself, with what `given` has beside.
StepNumbers counted_numbers(GraphBuilder& b, const Optimizer& optimizer, ValueId steps) {
  StepNumbers numbers = given_numbers(b);
  numbers.iteration = [&b, steps] { return ops::cast(b, steps, DType::kFloat32); };
  if (!optimizer.has_schedule) return numbers;
  numbers.learning_rate = [&b, rate = optimizer.learning_rate, iteration = numbers.iteration] {
    return rate.append(b, iteration());
  };
  return numbers;
}

/// An update for each weight that has a gradient; all gradients are divided by `scale`, if any.
std::vector<WeightUpdate> begin_updates(GraphBuilder& b, const CommonArguments& common,
                                        std::span<const Update> gradients,
                                        const StepNumbers& numbers, ValueId scale) {
  std::vector<WeightUpdate> updates;
  for (const auto& [variable, value] : gradients) {
    if (value == kNoValue) continue;
    const ValueId gradient = scale == kNoValue ? value : ops::divide(b, value, scale);
    updates.emplace_back(b, common.name, variable, gradient, numbers, common.steps_per_update);
  }
  return updates;
}

/// Those of the static loss_scale_factor.
std::vector<WeightUpdate> begin_plain_updates(GraphBuilder& b, const CommonArguments& common,
                                              std::span<const Update> gradients) {
  const std::optional<double> factor = common.loss_scale_factor;
  const ValueId scale = factor ? ops::constant(b, *factor) : kNoValue;
  return begin_updates(b, common, gradients, given_numbers(b), scale);
}

void update_weights(std::vector<WeightUpdate> updates, const SeveralSteps& slots,
                    const Optimizer& optimizer) {
  take_mean_gradients(updates, slots, optimizer.common);
  prepare(updates, optimizer.common, optimizer.rule);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    ValueId weight = optimizer.rule.apply(updates[i]);
    if (!slots.averages.empty()) {
      weight = track_average(updates[i], slots.averages[i], weight, optimizer.common);
    }
    updates[i].finish(weight);
  }
}

void keep_weights(std::vector<WeightUpdate> updates, const SeveralSteps& slots,
                  const CommonArguments& common) {
  accumulate(updates, slots, common);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const ValueId variable = updates[i].variable();
    ValueId weight = variable;
    if (!slots.averages.empty()) {
      weight = track_average(updates[i], slots.averages[i], variable, common);
    }
    if (weight != variable || updates[i].is_constrained()) updates[i].finish(weight);
  }
}

/// Where it depends on the program which step is an update: one that does either.
void update_or_keep(GraphBuilder& b, std::vector<WeightUpdate> updates, const Optimizer& optimizer,
                    ValueId steps) {
  const SeveralSteps slots = add_slots(updates, optimizer.common);
  const std::int64_t per_update = optimizer.common.steps_per_update;
  if (per_update == 1) return update_weights(std::move(updates), slots, optimizer);
  auto& all = b.graph().updates;
  const auto begin = static_cast<std::ptrdiff_t>(all.size());
  keep_weights(updates, slots, optimizer.common);
  std::map<ValueId, ValueId> kept;
  for (auto update = all.begin() + begin; update != all.end(); ++update) {
    kept.emplace(update->variable, update->value);
  }
  all.erase(all.begin() + begin, all.end());
  update_weights(std::move(updates), slots, optimizer);
  const ValueId number = ops::shift(b, ops::cast(b, steps, DType::kFloat32), 1.0);
  const ValueId updates_now = is_multiple(b, number, per_update);
  for (auto update = all.begin() + begin; update != all.end(); ++update) {
    const auto otherwise = kept.find(update->variable);
    const ValueId old = otherwise == kept.end() ? update->variable : otherwise->second;
    update->value = ops::select(b, updates_now, update->value, old);
  }
}

/// Paths of slots have '_' where those of weights have '/', so that two may be the same.
void check_paths(const Graph& graph) {
  std::set<std::string_view> known;
  for (const Variable& variable : graph.variables) {
    if (known.insert(variable.path).second) continue;
    fail("{}: the optimizer state of two weights would have this path; rename a layer",
         variable.path);
  }
}

void add_scaled(GraphBuilder& b, const Optimizer& optimizer, std::span<const Update> gradients) {
  const ValueId scale = scale_of_loss(b, *optimizer.scaling);
  const ValueId steps = counted_steps(b, optimizer.common.name);
  const ValueId finite = are_finite(b, gradients);
  const StepNumbers numbers = counted_numbers(b, optimizer, steps);
  std::vector<WeightUpdate> updates = begin_updates(b, optimizer.common, gradients, numbers, scale);
  const std::size_t first = b.graph().updates.size();
  update_or_keep(b, std::move(updates), optimizer, steps);
  update_where(b, finite, first);
  update_scale(b, *optimizer.scaling, finite, steps);
}

}  // namespace

void add_optimizer(GraphBuilder& b, const config::ClassSpec& spec,
                   std::span<const Update> gradients) {
  const Optimizer optimizer = read_optimizer(spec);
  b.set_phase(Phase::kUpdate);
  b.set_path(optimizer.common.name);
  if (optimizer.scaling) {
    add_scaled(b, optimizer, gradients);
  } else {
    std::vector<WeightUpdate> updates = begin_plain_updates(b, optimizer.common, gradients);
    const SeveralSteps slots = add_slots(updates, optimizer.common);
    update_weights(std::move(updates), slots, optimizer);
  }
  check_paths(b.graph());
}

void add_accumulation(GraphBuilder& b, const config::ClassSpec& spec,
                      std::span<const Update> gradients) {
  const CommonArguments common = read_optimizer(spec).common;
  b.set_phase(Phase::kUpdate);
  b.set_path(common.name);
  std::vector<WeightUpdate> updates = begin_plain_updates(b, common, gradients);
  const SeveralSteps slots = add_slots(updates, common);
  keep_weights(std::move(updates), slots, common);
  check_paths(b.graph());
}

ValueId loss_scale(GraphBuilder& b, const config::ClassSpec& spec) {
  const Optimizer optimizer = read_optimizer(spec);
  const PathScope path(b, optimizer.common.name);
  if (optimizer.scaling) return scale_of_loss(b, *optimizer.scaling);
  const std::optional<double> factor = optimizer.common.loss_scale_factor;
  return factor ? ops::constant(b, *factor) : kNoValue;
}

std::int64_t steps_per_update(const config::ClassSpec& spec) {
  const Optimizer optimizer = read_optimizer(spec);
  return optimizer.scaling ? 1 : optimizer.common.steps_per_update;
}

std::int64_t accumulated_steps(const config::ClassSpec& spec) {
  return read_optimizer(spec).common.steps_per_update;
}

bool averages_weights(const config::ClassSpec& spec) {
  return read_optimizer(spec).common.ema_momentum.has_value();
}

std::vector<Update> averages_in_place(const Graph& graph, const config::ClassSpec& spec) {
  const CommonArguments common = read_optimizer(spec).common;
  std::vector<Update> updates;
  if (!common.ema_momentum) return updates;
  std::map<std::string, ValueId> known;
  for (const Variable& variable : graph.variables) known.emplace(variable.path, variable.value);
  for (const Variable& variable : graph.variables) {
    const auto average = known.find(slot_path(common.name, variable.path, "average"));
    const bool is_weight = variable.slot_of.empty();
    if (is_weight && average != known.end()) {
      updates.push_back({variable.value, average->second});
    }
  }
  return updates;
}

OptimizerState state_of(const config::ClassSpec& spec, const std::vector<std::string>& weights) {
  const Optimizer optimizer = read_optimizer(spec);
  const config::ClassSpec inner = updating(spec);
  const OptimizerDef& def = find_optimizer(inner);
  OptimizerState state{optimizer.common.name, std::string(def.names.front()), {}, {}, {}, {}};
  if (optimizer.scaling) {
    state.scaled_by = optimizer.scaling->name;
    state.counters = loss_scale_paths(*optimizer.scaling);
    state.counters.push_back(iteration_path(state.name));
  }
  std::vector<std::vector<std::string_view>> lists{{"average"}, {"gradient_accumulator"}};
  lists.insert(lists.end(), def.slots.begin(), def.slots.end());
  for (const auto& list : lists) {
    for (const std::string& weight : weights) {
      for (const std::string_view slot : list) {
        state.slots.push_back(slot_path(state.name, weight, std::string(slot)));
      }
    }
  }
  // Of one within a LossScaleOptimizer Keras knows weights' slots alone.
  if (optimizer.scaling) return state;
  for (const std::string_view scalar : def.scalars) {
    state.slots.push_back(fmt::format("{}/{}", state.name, scalar));
  }
  for (const std::string& weight : weights) {
    for (const std::string_view slot : def.placeholders) {
      state.placeholders.insert(slot_path(state.name, weight, std::string(slot)));
    }
  }
  return state;
}

std::vector<std::string> notes_on(const config::ClassSpec& spec,
                                  const std::vector<std::string>& weights) {
  return read_optimizer(spec).common.no_decay.describe_unmatched(weights);
}

void check_optimizer(const config::ClassSpec& spec) { read_optimizer(spec); }

Schedule learning_rate_of(const config::ClassSpec& spec) {
  return read_optimizer(spec).learning_rate;
}

std::optional<config::ClassSpec> schedule_of(const config::ClassSpec& spec) {
  const config::ClassSpec inner = updating(spec);
  config::Reader args(inner.args, fmt::format("optimizer {}", inner.name));
  const config::Value* rate = args.find("learning_rate");
  if (rate == nullptr || rate->is_real()) return std::nullopt;
  return config::read_class(*rate, "learning_rate");
}

}  // namespace meshwork
