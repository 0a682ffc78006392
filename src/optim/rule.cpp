#include "optim/rule.h"

#include <algorithm>

#include "ops/ops.h"

namespace meshwork {

WeightUpdate::WeightUpdate(GraphBuilder& builder, std::string optimizer, std::size_t variable,
                           ValueId gradient, StepNumbers numbers, std::int64_t steps_per_update)
    : b_(builder),
      optimizer_(std::move(optimizer)),
      gradient_(gradient),
      numbers_(std::move(numbers)),
      steps_per_update_(steps_per_update) {
  const Variable& weight = b_.graph().variables.at(variable);
  path_ = weight.path;
  variable_ = weight.value;
  weight_ = weight.value;
  type_ = b_.type(weight.value);
}

ValueId WeightUpdate::step() {
  const ValueId steps = ops::shift(b_, iteration(), 1.0);
  if (steps_per_update_ == 1) return steps;
  // Updates are at whole multiples, which divide without rounding.
  return ops::divide(b_, steps, ops::constant(b_, static_cast<double>(steps_per_update_)));
}

ValueId WeightUpdate::slot(const std::string& name) {
  const std::string path = slot_path(optimizer_, path_, name);
  for (const Variable& variable : b_.graph().variables) {
    if (variable.path == path) {
      fail("{}: the optimizer state of two weights would have this path; rename a layer", path);
    }
  }
  const ValueId value =
      b_.add(ops::kVariable, {}, {{"path", path}, {"dtype", "float32"}, {"shape", type_.shape}});
  b_.graph().variables.push_back(
      {.value = value,
       .path = path,
       .trainable = false,
       .slot_of = path_,
       .init = &ops::kConstant,
       .init_attrs = {{"value", 0.0}, {"dtype", "float32"}, {"shape", type_.shape}}});
  return value;
}

void WeightUpdate::update_slot(ValueId slot, ValueId value) {
  b_.graph().updates.push_back({slot, value});
}

void WeightUpdate::finish(ValueId value) { b_.graph().updates.push_back({variable_, value}); }

std::string read_optimizer_name(config::Reader& args, std::string_view fallback) {
  const std::string name = args.get("name", std::string(fallback));
  if (name.empty() || name.find('/') != std::string::npos) {
    fail_at(args.at(), "{}: name '{}' is empty or contains '/'", args.what(), name);
  }
  return name;
}

std::string slot_path(const std::string& optimizer, const std::string& path,
                      const std::string& name) {
  std::string flat = path;
  std::replace(flat.begin(), flat.end(), '/', '_');
  return optimizer + "/" + flat + "_" + name;
}

}  // namespace meshwork
