#include "interchange/from_keras/layer.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "config/names.h"
#include "interchange/from_keras/values.h"
#include "model/activations/activation.h"
#include "model/layers/layer.h"

namespace meshwork::from_keras {
namespace {

using config::Value;

constexpr std::string_view kOperations = "keras.src.ops.";

std::string class_of(const Json& object) { return object.at("class_name").get<std::string>(); }
std::string module_of(const Json& object) {
  const Json module = object.value("module", Json());
  return module.is_string() ? module.get<std::string>() : "";
}

std::string_view exported_name(const LayerDef& def) {
  return def.exported_as.empty() ? def.names.front() : def.exported_as;
}

/// The class that Keras calls so; nullptr if there is none.
const LayerDef* find_layer(const Json& object) {
  const std::string name = class_of(object);
  const LayerDef* alike = nullptr;
  for (const LayerDef* def : layer_registry()) {
    const bool is_called_so =
        exported_name(*def) == name || std::ranges::find(def->names, name) != def->names.end();
    if (!is_called_so) continue;
    if (meshwork::is_operation(*def) == is_operation(object)) return def;
    // An operation on several tensors is a layer, too: Add, Maximum, Concatenate.
    if (is_operation(object) && def->max_inputs > 1) alike = def;
  }
  return alike;
}

/// A number that a call is given, or the numbers of a constant tensor; null for what is neither.
Json constant_of(const Json& argument) {
  if (argument.is_number()) return argument;
  const std::string name = is_object(argument) ? class_of(argument) : "";
  return name == "__numpy__" || name == "__tensor__" ? argument.at("config").at("value") : Json();
}

using Function = double (*)(double);

/// Of each number.
Json applied(const Json& numbers, Function function) {
  if (!numbers.is_array()) return function(numbers.get<double>());
  Json result = Json::array();
  for (const Json& number : numbers) result.push_back(applied(number, function));
  return result;
}

/// scale x + offset
Layer rescaling(const Json& scale, const Json& offset) {
  Layer layer{"Rescaling", {}};
  layer.args.insert("scale", {}).value = value_of(scale);
  if (offset != 0) layer.args.insert("offset", {}).value = value_of(offset);
  return layer;
}

Layer clip(const char* bound, const Json& value) {
  Layer layer{"Clip", {}};
  layer.args.insert(bound, {}).value = value_of(value);
  return layer;
}

/// An operation of Keras on a tensor and numbers that is a layer of another name here.
std::optional<Layer> with_numbers(const std::string& name, const Call& call) {
  if (call.inputs.size() != 1 || call.numbers.size() != 1) return std::nullopt;
  const auto& [key, argument] = call.numbers.front();
  const Json c = constant_of(argument);
  if (c.is_null()) return std::nullopt;
  const bool is_second = key != "x1";
  if (name == "Add") return rescaling(1, c);
  if (name == "Multiply") return rescaling(c, 0);
  if (name == "Subtract" && !is_second) return rescaling(-1, c);
  if (name == "Subtract") return rescaling(1, applied(c, [](double x) { return -x; }));
  if (is_second && (name == "TrueDivide" || name == "Divide")) {
    return rescaling(applied(c, [](double x) { return 1 / x; }), 0);
  }
  if (name == "Maximum" && c.is_number()) return clip("x_min", c);
  if (name == "Minimum" && c.is_number()) return clip("x_max", c);
  return std::nullopt;
}

/// Operations such as Tanh and Relu, which are activations here.
std::optional<Layer> as_activation(const Json& object, const Call& call) {
  if (!is_operation(object) || !call.numbers.empty()) return std::nullopt;
  const std::string name = snake_case(class_of(object));
  if (config::find_named(activation_registry(), name) == nullptr) return std::nullopt;
  const Value args = arguments_of(object, {"name"});
  Layer layer{"Activation", {}};
  Value& activation = layer.args.insert("activation", {}).value;
  activation = word(name);
  if (args.map.empty()) return layer;
  activation = {};
  activation.insert(name, {}).value = args;
  return layer;
}

/// A layer that stands for an activation is called as the activation is.
void rename_activation(Value& value) {
  if (!value.is_map() && !value.is_scalar()) return;
  std::string& name = value.is_map() ? value.map.front().key : value.scalar;
  for (const auto& [activation, layer] : activation_layers()) {
    if (name == layer) name = activation;
  }
}

void add_call_arguments(const LayerDef& def, const Call& call, Value& args) {
  std::size_t place = 0;
  for (const auto& [given, json] : call.numbers) {
    std::string key = given;
    if (key.empty() && place < def.call_arguments.size()) key = def.call_arguments[place];
    ++place;
    if (json.is_null() || key == "training") continue;
    if (!json.is_number() && !constant_of(json).is_null()) {
      fail(
          "its call takes a tensor that no layer gives; such constants are read where they are "
          "added or multiply alone, and PositionEmbedding learns what is added to each step");
    }
    if (std::ranges::find(def.call_arguments, key) == def.call_arguments.end()) {
      fail("its call has the argument {}, which there is none for here",
           key.empty() ? excerpt(json_dump(json)) : fmt::format("'{}'", key));
    }
    args.insert(key, {}).value = value_of(json);
  }
}

}  // namespace

Value inputs_value(const std::vector<std::string>& roles, const std::vector<std::string>& names) {
  if (roles.empty()) return words(names);
  Value value;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    Value& given = value.insert(roles[i], {}).value;
    if (given.is_null()) {
      given = word(names[i]);
      continue;
    }
    if (!given.is_list()) {
      const Value first = given;
      given = {};
      given.kind = Value::Kind::kList;
      given.list.push_back(first);
    }
    given.list.push_back(word(names[i]));
  }
  return value;
}

bool is_operation(const Json& object) { return module_of(object).starts_with(kOperations); }

std::string policy_of(const Json& object) {
  if (!object.at("config").is_object()) return {};
  const Json dtype = object.at("config").value("dtype", Json());
  if (dtype.is_string()) return dtype.get<std::string>();
  return is_object(dtype) ? dtype.at("config").at("name").get<std::string>() : "";
}

Layer read_layer(const Json& object, const Call& call, const std::string& precision) {
  if (const std::string package = foreign_package(object);
      !package.empty() && package != "keras_hub") {
    fail("'{}' is a class of your own ('{}'), which holds code that is not in the file",
         class_of(object), package);
  }
  if (is_operation(object)) {
    if (std::optional<Layer> layer = with_numbers(class_of(object), call)) return *layer;
  }
  const LayerDef* const def = find_layer(object);
  if (def == nullptr) {
    if (std::optional<Layer> layer = as_activation(object, call)) return *layer;
    layers::refuse_known_layer({class_of(object), {}, {}});
    fail("there is no layer {} of {} here", class_of(object), module_of(object));
  }
  Layer layer{std::string(def->names.front()),
              arguments_of(object, {"name", "dtype", "trainable"})};
  const Json& arguments = object.at("config");
  for (const char* key : {"axis", "merge_mode"}) {  // whose default is not None
    if (arguments.contains(key) && arguments.at(key).is_null()) layer.args.insert(key, {});
  }
  if (!arguments.value("trainable", true)) {
    layer.args.insert("trainable", {}).value = value_of(Json(false));
  }
  const std::string policy = policy_of(object);
  if (!policy.empty() && policy != precision) layer.args.insert("dtype", {}).value = word(policy);
  for (Value::Entry& entry : layer.args.map) {
    if (entry.key == "activation" || entry.key.ends_with("_activation")) {
      rename_activation(entry.value);
    }
  }
  add_call_arguments(*def, call, layer.args);
  if (std::ranges::any_of(call.roles, [](const std::string& role) { return !role.empty(); })) {
    for (std::size_t i = 0; i < call.roles.size(); ++i) {
      const bool is_by_place = call.roles[i].empty() && i < def->call_inputs.size();
      layer.roles.push_back(is_by_place ? std::string(def->call_inputs[i]) : call.roles[i]);
    }
  }
  return layer;
}

}  // namespace meshwork::from_keras
