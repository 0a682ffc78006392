#include "optim/rule.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ops/ops.h"

namespace meshwork {
namespace {

/// Takes the update of a variable out of the program: its value, or kNoValue if there is none.
ValueId take_update(Graph& graph, ValueId variable) {
  const auto is_it = [&](const Update& update) { return update.variable == variable; };
  const auto update = std::ranges::find_if(graph.updates, is_it);
  if (update == graph.updates.end()) return kNoValue;
  const ValueId value = update->value;
  graph.updates.erase(update);
  return value;
}

/// The same formula of other operands: `known` says what stands in the place of which.
ValueId substitute(GraphBuilder& b, ValueId formula, std::map<ValueId, ValueId>& known) {
  if (const auto other = known.find(formula); other != known.end()) return other->second;
  const Node node = b.node(formula);
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(substitute(b, input, known));
  return known[formula] = b.add(*node.op, std::move(inputs), node.attrs);
}

/// A variable, full of `initial`, that an optimizer keeps of `owner`.
ValueId add_state(GraphBuilder& b, const std::string& owner, const Attrs& attrs, double initial) {
  const ValueId value = b.add(ops::kVariable, {}, attrs);
  b.graph().variables.push_back({.value = value,
                                 .path = attrs.text("path"),
                                 .trainable = false,
                                 .slot_of = owner,
                                 .init = &ops::kConstant,
                                 .init_attrs = ops::constant_attrs(initial, b.type(value))});
  return value;
}

}  // namespace

WeightUpdate::WeightUpdate(GraphBuilder& builder, std::string optimizer, ValueId variable,
                           ValueId gradient, StepNumbers numbers, std::int64_t steps_per_update)
    : b_(builder),
      optimizer_(std::move(optimizer)),
      path_(b_.node(variable).attrs.text("path")),
      type_(b_.type(variable)),
      variable_(variable),
      weight_(variable),
      gradient_(gradient),
      constraint_(take_update(b_.graph(), variable)),
      numbers_(std::move(numbers)),
      steps_per_update_(steps_per_update) {}

ValueId WeightUpdate::step() {
  const ValueId steps = ops::shift(b_, iteration(), 1.0);
  if (steps_per_update_ == 1) return steps;
  // Updates are at whole multiples, which divide without rounding.
  return ops::divide(b_, steps, ops::constant(b_, static_cast<double>(steps_per_update_)));
}

ValueId WeightUpdate::slot(const std::string& name, double initial) {
  const std::string path = slot_path(optimizer_, path_, name);
  return add_slot({{"path", path}, {"dtype", "float32"}, {"shape", type_.shape}}, initial);
}

ValueId WeightUpdate::slot_of_sums(const std::string& name) {
  const std::string path = slot_path(optimizer_, path_, name);
  return add_slot({{"path", path}, {"dtype", "float32"}, {"shape", type_.shape}, {"sums", true}},
                  0);
}

ValueId WeightUpdate::slot_of_dims(const std::string& name, const std::vector<std::int64_t>& dims) {
  const std::string path = slot_path(optimizer_, path_, name);
  Shape shape;
  for (const std::int64_t dim : dims)
    shape.push_back(type_.shape.at(static_cast<std::size_t>(dim)));
  return add_slot({{"path", path}, {"dtype", "float32"}, {"shape", shape}, {"dims", dims}}, 0);
}

ValueId WeightUpdate::add_slot(const Attrs& attrs, double initial) {
  return add_state(b_, path_, attrs, initial);
}

ValueId WeightUpdate::scalar(const std::string& name, double initial) {
  return kept_scalar(b_, optimizer_, optimizer_ + "/" + name, DType::kFloat32, initial);
}

void WeightUpdate::update_scalar(ValueId scalar, ValueId value) {
  auto& updates = b_.graph().updates;
  const bool is_updated =
      std::ranges::any_of(updates, [&](const Update& update) { return update.variable == scalar; });
  if (!is_updated) updates.push_back({scalar, value});
}

void WeightUpdate::update_slot(ValueId slot, ValueId value) {
  b_.graph().updates.push_back({slot, value});
}

void WeightUpdate::finish(ValueId value) {
  std::map<ValueId, ValueId> known{{variable_, value}};
  if (is_constrained()) value = substitute(b_, constraint_, known);
  b_.graph().updates.push_back({variable_, value});
}

ValueId kept_scalar(GraphBuilder& b, const std::string& owner, const std::string& path, DType dtype,
                    double initial) {
  const auto& variables = b.graph().variables;
  const auto known = std::ranges::find(variables, path, &Variable::path);
  if (known != variables.end()) return known->value;
  const std::string type(to_string(dtype));
  return add_state(b, owner, {{"path", path}, {"dtype", type}, {"shape", Shape{}}}, initial);
}

ValueId moving_average(WeightUpdate& u, ValueId slot, ValueId x, double beta) {
  GraphBuilder& b = u.builder();
  const ValueId next = ops::add(b, slot, ops::scale(b, ops::subtract(b, x, slot), 1 - beta));
  u.update_slot(slot, next);
  return next;
}

ValueId decayed_average(WeightUpdate& u, ValueId slot, ValueId x, double rho) {
  GraphBuilder& b = u.builder();
  const ValueId kept = ops::scale(b, slot, rho);
  const ValueId next = ops::add(b, kept, ops::scale(b, x, 1 - rho));
  u.update_slot(slot, next);
  return next;
}

ValueId one_minus_power(WeightUpdate& u, double beta) {
  GraphBuilder& b = u.builder();
  const ValueId power = b.add(ops::kPower, {ops::constant(b, beta), u.step()});
  return ops::one_minus(b, power);
}

ValueId sum_of_squares(GraphBuilder& b, ValueId x) {
  std::vector<std::int64_t> axes(b.shape(x).size());
  std::iota(axes.begin(), axes.end(), 0);
  return ops::reduce_sum(b, ops::square(b, x), std::move(axes), false);
}

ValueId norm(GraphBuilder& b, ValueId x) { return ops::sqrt(b, sum_of_squares(b, x)); }

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
