#include "optim/optimizer.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/nearest.h"
#include "optim/common.h"
#include "optim/rule.h"
#include "optim/schedules/schedule.h"
#include "optim/several_steps.h"

namespace meshwork {
namespace {

const std::vector<const OptimizerDef*>& registry() {
  static const std::vector<const OptimizerDef*> registry = {
      &optimizers::kAdam,
      &optimizers::kAdamW,
      &optimizers::kRmsProp,
      &optimizers::kSgd,
  };
  return registry;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

const OptimizerDef& find_optimizer(const config::ClassSpec& spec) {
  std::vector<std::string> known;
  for (const OptimizerDef* def : registry()) {
    for (const std::string_view name : def->names) {
      if (lower(name) == lower(spec.name)) return *def;
      known.emplace_back(name);
    }
  }
  fail_at(spec.at, "there is no optimizer '{}'{}", spec.name, suggestion(spec.name, known));
}

/// An optimizer with its arguments.
struct Optimizer {
  CommonArguments common;
  Schedule learning_rate;
  UpdateRule rule;
};

Optimizer read_optimizer(const config::ClassSpec& spec) {
  const OptimizerDef& def = find_optimizer(spec);
  config::Reader args(spec.args, fmt::format("optimizer {}", spec.name));
  Optimizer optimizer;
  optimizer.learning_rate = read_schedule(args.find("learning_rate"), def.learning_rate);
  optimizer.common = read_common(args, def);
  optimizer.rule = def.read(args);
  args.finish();
  return optimizer;
}

/// Enters the update phase with all weights that have a gradient.
std::vector<WeightUpdate> begin_updates(GraphBuilder& b, const CommonArguments& common,
                                        std::span<const Gradient> gradients) {
  b.set_phase(Phase::kUpdate);
  b.set_path(common.name);
  std::vector<WeightUpdate> updates;
  for (const Gradient& gradient : gradients) {
    if (gradient.value == kNoValue) continue;
    updates.emplace_back(b, common.name, gradient.variable, gradient.value,
                         common.steps_per_update);
  }
  return updates;
}

}  // namespace

void add_optimizer(GraphBuilder& b, const config::ClassSpec& spec,
                   std::span<const Gradient> gradients) {
  const Optimizer optimizer = read_optimizer(spec);
  std::vector<WeightUpdate> updates = begin_updates(b, optimizer.common, gradients);
  const SeveralSteps slots = add_slots(updates, optimizer.common);
  take_mean_gradients(updates, slots, optimizer.common);
  prepare(updates, optimizer.common);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    ValueId weight = optimizer.rule(updates[i]);
    if (!slots.averages.empty()) {
      weight = track_average(updates[i], slots.averages[i], weight, optimizer.common);
    }
    updates[i].finish(weight);
  }
}

void add_accumulation(GraphBuilder& b, const config::ClassSpec& spec,
                      std::span<const Gradient> gradients) {
  const CommonArguments common = read_optimizer(spec).common;
  std::vector<WeightUpdate> updates = begin_updates(b, common, gradients);
  const SeveralSteps slots = add_slots(updates, common);
  accumulate(updates, slots);
  for (std::size_t i = 0; i < slots.averages.size(); ++i) {
    const ValueId variable = updates[i].variable();
    const ValueId weight = track_average(updates[i], slots.averages[i], variable, common);
    if (weight != variable) updates[i].finish(weight);
  }
}

std::int64_t steps_per_update(const config::ClassSpec& spec) {
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
  OptimizerState state{
      read_optimizer(spec).common.name, std::string(find_optimizer(spec).names.front()), {}};
  std::vector<std::vector<std::string_view>> lists{{"average"}, {"gradient_accumulator"}};
  const auto& own = find_optimizer(spec).slots;
  lists.insert(lists.end(), own.begin(), own.end());
  for (const auto& list : lists) {
    for (const std::string& weight : weights) {
      for (const std::string_view slot : list) {
        state.slots.push_back(slot_path(state.name, weight, std::string(slot)));
      }
    }
  }
  return state;
}

void check_optimizer(const config::ClassSpec& spec) { read_optimizer(spec); }

Schedule learning_rate_of(const config::ClassSpec& spec) {
  return read_optimizer(spec).learning_rate;
}

std::optional<config::ClassSpec> schedule_of(const config::ClassSpec& spec) {
  config::Reader args(spec.args, fmt::format("optimizer {}", spec.name));
  const config::Value* rate = args.find("learning_rate");
  if (rate == nullptr || rate->is_real()) return std::nullopt;
  return config::read_class(*rate, "learning_rate");
}

}  // namespace meshwork
