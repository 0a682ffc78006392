#include "interchange/from_keras/trial.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.h"
#include "config/yaml.h"
#include "graph/text.h"
#include "interchange/from_keras/values.h"
#include "interchange/keras_model.h"
#include "model/model.h"

namespace meshwork::from_keras {
namespace {

using config::Value;

constexpr const char* kPlace = "layer";
constexpr std::int64_t kBatch = 2;

std::string input_name(std::size_t i) { return fmt::format("input_{}", i); }

Value input_of(const TensorType& type) {
  const Shape sample(type.shape.begin() + 1, type.shape.end());
  return value_of(
      Json{{"shape", sample}, {"dtype", is_floating(type.dtype) ? "float32" : "int32"}});
}

/// A configuration of this layer alone.
std::string text_of(const Layer& layer, const std::string& name,
                    const std::vector<TensorType>& inputs, const std::string& precision) {
  Value root, args = layer.args;
  std::vector<std::string> names;
  if (precision.starts_with("mixed")) root.insert("precision", {}).value = word(precision);
  Value& model = root.insert("model", {}).value;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    model.insert("inputs", {}).value.insert(input_name(i), {}).value = input_of(inputs[i]);
    names.push_back(input_name(i));
  }
  args.insert("name", {}).value = word(name);
  args.insert("inputs", {}).value = inputs_value(layer.roles, names);
  Value item;
  item.insert(layer.class_name, {}).value = args;
  Value& layers = model.insert("layers", {}).value;
  layers.kind = Value::Kind::kList;
  layers.list.push_back(item);
  Value& compile = root.insert("compile", {}).value;
  compile.insert("optimizer", {}).value = word("SGD");
  compile.insert("loss", {}).value = word("mean_squared_error");
  return config::to_yaml(root);
}

/// An error about a text that nobody has written: without its place in it.
std::string without_place(const std::string& message) {
  if (!message.starts_with(kPlace)) return message;
  const std::size_t end = message.find(": ");
  return end == std::string::npos ? message : message.substr(end + 2);
}

struct Built {
  std::string text;  ///< of the programs that predict and train
  std::vector<Output> outputs;
};

Built build(const std::string& text) {
  const config::Config config = config::parse_config(text, kPlace, {});
  Signature signature = stated_signature(config.model);
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    signature.inputs[i].dtype = config.model.inputs[i].dtype;
  }
  const Graph graph = build_model(config, signature, Mode::kPredict, kBatch);
  const TensorType first = graph.type(graph.layer_outputs.at(config.model.inputs.size()).value);
  Built built{print(graph), {{"", first}}};
  const FurtherOutputs further(graph);
  for (const NamedValue& output : further.of(config.model.layers.at(0).path)) {
    built.outputs.push_back({output.name, graph.type(output.value)});
  }
  if (!is_floating(first.dtype)) return built;
  const Shape& shape = first.shape;
  signature.label = Field{"y", DType::kFloat32, Shape(shape.begin() + 1, shape.end())};
  built.text += print(build_model(config, signature, Mode::kTrain, kBatch));
  return built;
}

Built build(const Layer& layer, const std::string& name, const std::vector<TensorType>& inputs,
            const std::string& precision) {
  try {
    return build(text_of(layer, name, inputs, precision));
  } catch (const Error& error) {
    fail("{}", without_place(error.what()));
  }
}

using IsSame = std::function<bool()>;

bool has_equal_items(const Value& value) {
  const auto is_first = [&](const Value& item) {
    return item.is_scalar() && item.scalar == value.list.front().scalar;
  };
  return value.list.size() > 1 && std::ranges::all_of(value.list, is_first);
}

/// Tells of an update alone, which the programs do not show.
bool is_of_updates(const std::string& key) {
  return key.ends_with("_constraint") || key == "trainable";
}

void shorten_entry(Value& map, const std::string& key, const IsSame& is_same);

/// Each entry of a map alike.
void shorten_entries(Value& map, const IsSame& is_same) {
  for (const std::string& key : map.keys()) shorten_entry(map, key, is_same);
}

/// Takes an entry out, and puts it back where `is_same` does not hold without it; of a list of
/// equal numbers one may do.
void shorten_entry(Value& map, const std::string& key, const IsSame& is_same) {
  if (is_of_updates(key)) return;
  const auto place = map.find(key) - map.map.data();
  const Value::Entry kept = *map.find(key);
  map.take(key);
  if (is_same()) return;
  map.map.insert(map.map.begin() + place, kept);
  Value& value = map.find(key)->value;
  if (has_equal_items(value)) {
    value = Value(kept.value.list.front());
    if (!is_same()) value = kept.value;
  }
  // A class with arguments of its own.
  if (value.is_map() && value.map.size() == 1 && value.map[0].value.is_map()) {
    shorten_entries(value.map[0].value, is_same);
    if (value.map[0].value.map.empty()) value = word(std::string(value.map[0].key));
  }
}

}  // namespace

std::vector<Output> Trial::outputs(const Layer& layer, const std::string& name,
                                   const std::vector<TensorType>& inputs) const {
  return build(layer, name, inputs, precision_).outputs;
}

std::vector<Output> Trial::shorten(Layer& layer, const std::string& name,
                                   const std::vector<TensorType>& inputs) {
  const Built all = build(layer, name, inputs, precision_);
  const IsSame is_same = [&] {
    try {
      return build(layer, name, inputs, precision_).text == all.text;
    } catch (const Error&) {
      return false;
    }
  };
  const Value args = layer.args;
  const auto place_of = [&](const Value::Entry& entry) {
    return fmt::format("{} {}: {}", layer.class_name, entry.key, config::to_line(entry.value));
  };
  layer.args.map.clear();
  for (const Value::Entry& entry : args.map) {
    const auto known = known_.find(place_of(entry));
    const bool is_left_out = known != known_.end() && !known->second;
    if (is_left_out) continue;
    layer.args.insert(entry.key, {}).value = known == known_.end() ? entry.value : *known->second;
  }
  if (!is_same()) {
    layer.args = args;
    shorten_entries(layer.args, is_same);
    return all.outputs;
  }
  for (const Value::Entry& entry : args.map) {
    if (known_.contains(place_of(entry))) continue;
    shorten_entry(layer.args, entry.key, is_same);
    const Value::Entry* const left = layer.args.find(entry.key);
    known_[place_of(entry)] = left == nullptr ? std::nullopt : std::optional(left->value);
  }
  return all.outputs;
}

}  // namespace meshwork::from_keras
