#include "optim/rule.h"

#include <algorithm>

#include "ops/ops.h"

namespace meshwork {

WeightUpdate::WeightUpdate(GraphBuilder& builder, std::string optimizer, std::size_t variable,
                           ValueId gradient)
    : b_(builder), optimizer_(std::move(optimizer)), gradient_(gradient) {
  const Variable& weight = b_.graph().variables.at(variable);
  path_ = weight.path;
  variable_ = weight.value;
  weight_ = weight.value;
  type_ = b_.type(weight.value);
}

ValueId WeightUpdate::learning_rate() {
  return ops::input(b_, "learning_rate", {DType::kFloat32, {}});
}

ValueId WeightUpdate::step() {
  const ValueId iteration = ops::input(b_, "iteration", {DType::kInt64, {}});
  return ops::shift(b_, ops::cast(b_, iteration, DType::kFloat32), 1.0);
}

ValueId WeightUpdate::slot(const std::string& name) {
  std::string flat = path_;
  std::replace(flat.begin(), flat.end(), '/', '_');
  const std::string path = optimizer_ + "/" + flat + "_" + name;
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

double read_rate(config::Reader& args, std::string_view key, double fallback) {
  const double rate = args.get(key, fallback);
  if (rate < 0 || rate >= 1) {
    fail_at(args.at(), "{}: {} is {}; give 0 or more and less than 1", args.what(), key, rate);
  }
  return rate;
}

double read_epsilon(config::Reader& args) {
  const double epsilon = args.get("epsilon", 1e-7);
  if (epsilon < 0) {
    fail_at(args.at(), "{}: epsilon is {}; give 0 or more", args.what(), epsilon);
  }
  return epsilon;
}

}  // namespace meshwork
