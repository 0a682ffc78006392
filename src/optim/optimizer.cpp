#include "optim/optimizer.h"

#include <algorithm>
#include <cctype>

#include "base/nearest.h"
#include "optim/common.h"
#include "optim/rule.h"
#include "optim/schedules/schedule.h"

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

}  // namespace

void add_optimizer(GraphBuilder& b, const config::ClassSpec& spec,
                   std::span<const Gradient> gradients) {
  const Optimizer optimizer = read_optimizer(spec);
  b.set_phase(Phase::kUpdate);
  b.set_path(optimizer.common.name);
  std::vector<WeightUpdate> updates;
  for (const Gradient& gradient : gradients) {
    if (gradient.value == kNoValue) continue;
    updates.emplace_back(b, optimizer.common.name, gradient.variable, gradient.value);
  }
  prepare(updates, optimizer.common);
  for (WeightUpdate& update : updates) update.finish(optimizer.rule(update));
}

void check_optimizer(const config::ClassSpec& spec) { read_optimizer(spec); }

Schedule learning_rate_of(const config::ClassSpec& spec) {
  return read_optimizer(spec).learning_rate;
}

}  // namespace meshwork
