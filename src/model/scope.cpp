#include "model/scope.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/names.h"
#include "base/rng.h"
#include "model/arguments.h"
#include "model/count_along.h"
#include "ops/ops.h"

namespace meshwork {

namespace {

Attrs variable_attrs(const std::string& path, const TensorType& type) {
  return {{"path", path}, {"dtype", std::string(to_string(type.dtype))}, {"shape", type.shape}};
}

}  // namespace

std::string Scope::path_of(const std::string& name) const {
  return builder_.path() + "/" + part_ + name;
}

ValueId Scope::make(const std::string& name, const Shape& shape, const Initializer& initializer,
                    bool trainable) {
  const std::string path = path_of(name);
  if (const auto known = variables_.find(path); known != variables_.end()) {
    if (builder_.shape(known->second) == shape) return known->second;
    fail_at(layer_.at,
            "'{}' is {}, but would have to be {} for this use of the layer; give all its uses "
            "inputs of one shape",
            path, to_string(builder_.shape(known->second)), to_string(shape));
  }
  if (checked_elements(shape) < 0) {
    fail_at(layer_.at, "'{}': a variable of shape {} is too large", path, to_string(shape));
  }
  InitialValue initial = initializer({.shape = shape, .seed = seed_, .path = path});
  const ValueId value =
      builder_.add(ops::kVariable, {}, variable_attrs(path, {DType::kFloat32, shape}));
  variables_.emplace(path, value);
  builder_.graph().variables.push_back({.value = value,
                                        .path = path,
                                        .trainable = trainable,
                                        .slot_of = {},
                                        .init = initial.op,
                                        .init_attrs = std::move(initial.attrs),
                                        .ones = std::move(initial.ones)});
  return value;
}

template <class T>
const T* Scope::given_for(const std::string& variable, const std::map<std::string, T>& given,
                          std::string_view kind) {
  const std::string name = variable.substr(variable.rfind('/') + 1);  // "kernel" of "query/kernel"
  for (const auto& [of, result] : given) {
    // `depthwise_regularizer` is of a variable that Keras calls depthwise_kernel, or kernel.
    const bool is_kernel = name == of + "_kernel" || (of == "depthwise" && name == "kernel");
    // In Keras the regularizer of a weight is that of the factors that adapt it, too.
    const std::string factor = "lora_" + of;
    const bool is_factor = kind == kRegularizer && (name == factor + "_a" || name == factor + "_b");
    if (name != of && !is_kernel && !is_factor) continue;
    used_.insert(fmt::format("{}{}", of, kind));
    return &result;
  }
  return nullptr;
}

void Scope::constrain(ValueId variable, const Constraint& constraint) {
  auto& updates = builder_.graph().updates;
  const auto is_known = [&](const Update& update) { return update.variable == variable; };
  if (!training_ || std::ranges::any_of(updates, is_known)) return;
  const ValueId constrained = constraint(builder_, variable);
  updates.push_back({variable, constrained});
}

void Scope::penalize(ValueId output, const Regularizer& regularizer) {
  output_penalties_.push_back({output, regularizer, builder_.path()});
}

std::vector<ValueId> Scope::add_penalties() {
  std::vector<ValueId> penalties = losses_;
  for (const Penalty& penalty : output_penalties_) {
    const PathScope scope(builder_, penalty.path);
    const ValueId output = cast(penalty.value, DType::kFloat32);
    const auto batch = static_cast<double>(builder_.shape(output)[0]);
    penalties.push_back(
        ops::divide(builder_, penalty.of(builder_, output), ops::constant(builder_, batch)));
  }
  for (const auto& [path, penalty] : penalties_) {
    const PathScope scope(builder_, path);
    penalties.push_back(penalty.of(builder_, penalty.value));
  }
  return penalties;
}

ValueId Scope::variable(const std::string& name, const Shape& shape,
                        const Initializer& initializer) {
  const bool frozen = !layer_.trainable || (frozen_ && frozen_(path_of(name)));
  const ValueId value = make(name, shape, initializer, !frozen);
  const auto* const regularizer = given_for(name, layer_.variables.regularizers, kRegularizer);
  if (regularizer != nullptr && !frozen) {
    penalties_.try_emplace(path_of(name), Penalty{value, *regularizer, {}});
  }
  const auto* const constraint = given_for(name, layer_.variables.constraints, kConstraint);
  if (constraint != nullptr && !frozen) constrain(value, *constraint);
  return cast(cast(value, layer_.dtype), layer_.variable_dtype);
}

ValueId Scope::frozen_variable(const std::string& name, const Shape& shape,
                               const Initializer& initializer) {
  return cast(cast(make(name, shape, initializer, false), layer_.dtype), layer_.variable_dtype);
}

ValueId Scope::optional_variable(bool present, const std::string& why, const std::string& name,
                                 const Shape& shape, const Initializer& initializer) {
  if (present) return variable(name, shape, initializer);
  absent_.emplace(path_of(name), why);
  given_for(name, layer_.variables.regularizers, kRegularizer);
  given_for(name, layer_.variables.constraints, kConstraint);
  return kNoValue;
}

void Scope::add_output(const std::string& name, ValueId value, const std::string& why) {
  if (value == kNoValue) {
    absent_.emplace(path_of(name), why);
    absent_outputs_.insert(path_of(name));
  } else {
    further_outputs_.push_back({name, cast(value, output_dtype())});
  }
}

ValueId Scope::non_trainable(const std::string& name, const Shape& shape,
                             const Initializer& initializer) {
  const ValueId variable = make(name, shape, initializer, false);
  for (const Update& update : builder_.graph().updates) {
    if (update.variable == variable) return update.value;
  }
  return variable;
}

void Scope::keep_count(const std::string& name) {
  const TensorType type{DType::kInt32, {}};
  const std::string path = path_of(name);
  const auto [known, is_new] = variables_.try_emplace(path, kNoValue);
  if (!is_new) return;
  known->second = builder_.add(ops::kVariable, {}, variable_attrs(path, type));
  builder_.graph().variables.push_back({.value = known->second,
                                        .path = path,
                                        .trainable = false,
                                        .slot_of = {},
                                        .init = &ops::kConstant,
                                        .init_attrs = ops::constant_attrs(0, type)});
}

void Scope::begin_as(ValueId variable, DataStatistic statistic) {
  for (Variable& known : builder_.graph().variables) {
    if (known.value == variable) known.begins_as = std::move(statistic);
  }
}

ValueId Scope::cache_variable(const std::string& name, const TensorType& rows) {
  MW_CHECK(decoding_);
  Shape shape = rows.shape;
  shape[1] = decoding_->context;
  std::string path = path_of(name);
  if (layer_.use > 0) path += fmt::format("_{}", layer_.use);
  const auto [known, is_new] = variables_.try_emplace(path, kNoValue);
  if (!is_new) return known->second;
  const DType dtype = rows.dtype;  // a copy: `rows` may lie in the graph, which grows below
  known->second = builder_.add(ops::kVariable, {}, variable_attrs(path, {dtype, shape}));
  builder_.graph().variables.push_back({.value = known->second,
                                        .path = path,
                                        .trainable = false,
                                        .slot_of = {},
                                        .init = &ops::kConstant,
                                        .init_attrs = ops::constant_attrs(0, {dtype, shape}),
                                        .is_cache = true});
  return known->second;
}

ValueId Scope::cache(const std::string& name, ValueId rows) {
  const ValueId cache = cache_variable(name, builder_.type(rows));
  const ValueId all = builder_.add(ops::kWriteRows, {cache, rows, decoding_->start});
  builder_.graph().updates.push_back({cache, all});
  return all;
}

ValueId Scope::last_row(const std::string& name, const TensorType& row) {
  MW_CHECK(decoding_);
  GraphBuilder& b = builder_;
  const std::int64_t batch = row.shape[0], context = decoding_->context;
  Shape rows = row.shape;
  rows.insert(rows.begin() + 1, decoding_->tokens);
  const ValueId cache = cache_variable(name, {row.dtype, rows});
  const ValueId start =
      ops::reshape(b, ops::cast(b, decoding_->start, DType::kFloat32), {batch, 1});
  const ValueId places = count_along(b, 2, 1, context);
  const ValueId is_it = ops::equal(b, ops::shift(b, start, -1), places);
  Shape spread(rows.size(), 1);
  spread[0] = batch;
  spread[1] = context;
  const ValueId all =
      b.add(ops::kSelect, {ops::reshape(b, is_it, spread), cache, ops::constant_like(b, 0, cache)});
  return ops::reduce_sum(b, all, {1}, false);
}

void Scope::mention_cache(const std::string& name) {
  absent_.emplace(path_of(name), "only generate has it");
}

ValueId Scope::cast(ValueId x, DType dtype) {
  if (builder_.type(x).dtype == dtype) return x;
  const auto [known, is_new] = casts_.try_emplace({x, dtype}, kNoValue);
  if (is_new) known->second = ops::cast(builder_, x, dtype);
  return known->second;
}

void Scope::update(ValueId state, ValueId value) {
  MW_CHECK(builder_.type(state) == builder_.type(value), "%{} updated by %{}", state, value);
  if (!training_) return;
  for (Update& update : builder_.graph().updates) {
    if (update.variable != state && update.value != state) continue;
    update.value = value;
    return;
  }
  MW_CHECK(builder_.node(state).op == &ops::kVariable, "%{} is no variable", state);
  builder_.graph().updates.push_back({state, value});
}

std::int64_t Scope::random_key(std::optional<std::int64_t> seed) const {
  std::string path = builder_.path();
  if (!part_.empty()) path += "/" + part_.substr(0, part_.size() - 1);
  if (layer_.use > 0) path += fmt::format("#{}", layer_.use);
  return static_cast<std::int64_t>(
      meshwork::random_key(seed ? static_cast<std::uint64_t>(*seed) : seed_, path));
}

ValueId Scope::iteration() { return ops::input(builder_, names::kIteration, {DType::kInt64, {}}); }

PartScope::PartScope(Scope& scope, std::string_view name, LayerFacts layer)
    : scope_(scope),
      part_(scope.part_),
      layer_(scope.layer_),
      output_mask_(scope.output_mask_),
      output_dtype_(scope.output_dtype_),
      further_outputs_(scope.further_outputs_) {
  scope_.part_ += fmt::format("{}/", name);
  const std::set<std::string> used = scope_.used_;
  scope_.enter_layer(std::move(layer));
  scope_.used_ = used;
}

PartScope::~PartScope() {
  scope_.part_ = part_;
  scope_.layer_ = std::move(layer_);
  scope_.output_mask_ = output_mask_;
  scope_.output_dtype_ = output_dtype_;
  scope_.further_outputs_ = std::move(further_outputs_);
}

}  // namespace meshwork
