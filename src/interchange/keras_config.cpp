#include "interchange/keras_config.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "config/lookup.h"
#include "interchange/keras_compile.h"
#include "interchange/keras_json.h"
#include "interchange/keras_model.h"
#include "model/activations/activation.h"
#include "model/constraints/constraint.h"
#include "model/freeze.h"
#include "model/initializers/initializer.h"
#include "model/layers/get_item.h"
#include "model/layers/layer.h"
#include "model/regularizers/regularizer.h"
#include "state/keras_names.h"

namespace meshwork {
namespace {

/// A word; with arguments the layer that computes the same, where Keras has one.
Json activation_of(const config::Value& value) {
  const config::ClassSpec spec = config::read_class(value, "activation");
  const ActivationDef& def = config::look_up(activation_registry(), spec, "activation");
  if (!has_arguments(spec)) return def.names.front();
  const auto layer = activation_layers().find(def.names.front());
  if (layer != activation_layers().end()) {
    return object_of("keras.layers", layer->second, arguments_of(spec));
  }
  config::fail_at(spec.at, "a .keras file has no words for '{}' with arguments; {}", spec.name,
                  kKerasRemedy);
}

Json initializer_of(const config::Value& value) {
  Json initializer = object_of("keras.initializers", initializer_registry(),
                               config::read_class(value, "initializer"), "initializer");
  // Keras writes the value always, and reads no object without it.
  if (initializer["class_name"] == "Constant") {
    initializer["config"].emplace("value", 0.0);
  }
  return initializer;
}

bool is_call_argument(const config::ClassSpec& layer, std::string_view key) {
  const auto& keys = config::look_up(layer_registry(), layer, "layer").call_arguments;
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

template <class Number>
Json number_of(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

/// The key of a GetItem, as Keras writes Python's slices.
Json key_of(const config::Value& key) {
  using Kind = layers::KeyPart::Kind;
  Json parts = Json::array();
  for (const layers::KeyPart& part : layers::read_key(key)) {
    switch (part.kind) {
      case Kind::kIndex:
        parts.push_back(part.index);
        break;
      case Kind::kSlice:
        parts.push_back({{"class_name", "__slice__"},
                         {"config",
                          {{"start", number_of(part.start)},
                           {"stop", number_of(part.stop)},
                           {"step", number_of(part.step)}}}});
        break;
      case Kind::kEllipsis:
        parts.push_back({{"class_name", "__ellipsis__"}, {"config", Json::object()}});
        break;
      case Kind::kNewAxis:
        parts.push_back(nullptr);
        break;
    }
  }
  return parts;
}

/// Of one call of the layer.
Json call_arguments(const config::LayerSpec& spec) {
  Json arguments = Json::object();
  for (const auto& [key, at, value] : spec.layer.args.map) {
    if (!is_call_argument(spec.layer, key)) continue;
    arguments[key] = key == "key" ? key_of(value) : json_of(value);
  }
  return arguments;
}

/// What a layer hands on to those in it.
struct HandedOn {
  Json dtype = nullptr;  ///< null where they have the default
  bool is_trained = true;
};

Json inner_layer(const config::Value& value, const HandedOn& given);

/// Of the layer itself.
Json layer_arguments(const config::ClassSpec& layer, const HandedOn& given) {
  Json arguments = Json::object();
  for (const auto& [key, at, value] : layer.args.map) {
    if (is_call_argument(layer, key)) continue;
    const bool is_initializer = key == "initializer" || key.ends_with("_initializer");
    // To these None means something. For others the default stands here, and Keras may not take it.
    const bool is_activation = key == "activation" || key.ends_with("_activation");
    if (value.is_null() && !is_initializer && !is_activation) continue;
    const bool is_class = !value.is_null();
    if (is_class && is_initializer) {
      arguments[key] = initializer_of(value);
    } else if (is_class && key.ends_with(kRegularizer)) {
      arguments[key] = object_of("keras.regularizers", regularizer_registry(),
                                 config::read_class(value, "regularizer"), "regularizer");
    } else if (is_class && key.ends_with(kConstraint)) {
      arguments[key] = object_of("keras.constraints", constraint_registry(),
                                 config::read_class(value, "constraint"), "constraint");
    } else if (is_class && is_activation) {
      arguments[key] = activation_of(value);
    } else if (key == "layer" || key == "backward_layer") {
      arguments[key] = inner_layer(value, given);
    } else {
      arguments[key] = json_of(value);
    }
  }
  const LayerDef& def = config::look_up(layer_registry(), layer, "layer");
  for (const WrittenDefault& argument : def.written_defaults) {
    arguments.emplace(argument.key, number_of(argument.value));
  }
  return arguments;
}

/// Keras's constructors let all but these cells train, whatever they say of their layer.
void check_freezes_parts(const config::ClassSpec& layer, const LayerDef& def) {
  if (def.parts.empty() || def.cell != nullptr) return;
  config::fail_at(layer.at,
                  "'{}' is not trained, and a .keras file has no word for that: Keras would train "
                  "the layers in it; {}",
                  layer.name, kKerasRemedy);
}

/// The layer that another is around.
Json inner_layer(const config::Value& value, const HandedOn& given) {
  const config::ClassSpec layer = config::read_class(value, "layer");
  const LayerDef& def = config::look_up(layer_registry(), layer, "layer");
  Json arguments = layer_arguments(layer, given);
  if (!given.dtype.is_null()) arguments["dtype"] = given.dtype;
  if (!given.is_trained) arguments["trainable"] = false;
  if (!arguments.value("trainable", true)) check_freezes_parts(layer, def);
  return object_of(def.module, def.exported_as.empty() ? def.names.front() : def.exported_as,
                   std::move(arguments));
}

/// What stands for an output of one use of a layer.
struct Giver {
  std::string layer;
  int use = 0;
  int index = 0;  ///< among the outputs
  Shape shape;
};

/// The layers of a model, each once, with all its uses.
class Layers {
 public:
  Layers(const config::Config& config, const Graph& graph)
      : config_(config), graph_(graph), freeze_(config.model.freeze) {
    for (const Variable& variable : graph.variables) {
      with_variables_.insert(layer_path(graph, variable));
      check_freeze(graph, variable);
    }
    const FurtherOutputs all_further(graph);
    auto output = graph.layer_outputs.begin() + std::ssize(config.model.inputs);
    for (const config::InputSpec& input : config.model.inputs) add_input(input);
    for (const config::LayerSpec& spec : config.model.layers) {
      MW_CHECK(output->name == spec.path + "/output", "{}", output->name);
      if (spec.layer.name.empty()) {
        givers_[spec.name] = giver(spec.inputs[0]);
        ++output;
        continue;
      }
      const auto& further = all_further.of(spec.path);
      add_use(spec, *output, further);
      output += 1 + std::ssize(further);
    }
  }

  Json list() const {
    Json list = Json::array();
    for (const std::string& name : order_) list.push_back(layers_.at(name));
    return list;
  }

  /// The layer whose output `name` stands for.
  const std::string& layer_of(const config::LayerOutput& name) const { return giver(name).layer; }

  /// `input_layers` and `output_layers`: one, or a list of several.
  Json places(const std::vector<config::LayerOutput>& names) const {
    Json places = Json::array();
    for (const config::LayerOutput& name : names) places.push_back(history_of(giver(name)));
    return places.size() == 1 ? places[0] : places;
  }

 private:
  void add_input(const config::InputSpec& input) {
    Shape shape{0};
    shape.insert(shape.end(), input.shape.begin(), input.shape.end());
    add(input.name, input.at, "keras.layers", "InputLayer",
        {{"batch_shape", shape_of(shape)},
         {"dtype", to_string(input.dtype)},
         {"name", input.name}});
    givers_[input.name] = {.layer = input.name, .shape = shape};
  }

  void add(const std::string& name, const config::Location& at, std::string_view module,
           std::string_view class_name, Json arguments) {
    Json layer = object_of(module, class_name, std::move(arguments));
    layer["name"] = name;
    layer["inbound_nodes"] = Json::array();
    if (!layers_.emplace(name, std::move(layer)).second) {
      config::fail_at(at, "two layers would have the name '{}' in a .keras file; rename one, or {}",
                      name, kKerasRemedy);
    }
    order_.push_back(name);
  }

  void add_use(const config::LayerSpec& spec, const NamedValue& output,
               const std::vector<NamedValue>& further) {
    const std::string name = flat_name(spec.path);
    const LayerDef& def = config::look_up(layer_registry(), spec.layer, "layer");
    if (def.module.empty()) {
      config::fail_at(spec.at, "a .keras file has no layer '{}'; {}", spec.layer.name,
                      kKerasRemedy);
    }
    const int use = uses_[spec.path]++;
    if (use == 0) {
      const bool is_renamed = !def.exported_as.empty();
      add(name, spec.at, def.module, is_renamed ? def.exported_as : def.names.front(),
          arguments_with_name(spec, name));
    }
    check_states(spec, def, output);
    layers_[name]["inbound_nodes"].push_back(call_of(spec, def));
    givers_[spec.name] = {name, use, 0, graph_.type(output.value).shape};
    for (std::size_t i = 0; i < further.size(); ++i) {
      givers_[spec.name + "/" + further[i].name] = {name, use, static_cast<int>(i) + 1,
                                                    graph_.type(further[i].value).shape};
    }
  }

  /// What one use of a layer takes.
  Json call_of(const config::LayerSpec& spec, const LayerDef& def) const {
    Json taken = Json::array();
    for (const config::LayerOutput& input : spec.inputs) taken.push_back(tensor_of(giver(input)));
    Json args = Json::array(), arguments = call_arguments(spec);
    const bool takes_list = def.max_inputs > 1 && def.call_inputs.empty();
    if (def.call_inputs.empty()) args.push_back(takes_list ? taken : taken[0]);
    std::vector<std::string> roles;  // of which numbers have none
    for (const std::string_view role : def.call_inputs) {
      if (!arguments.contains(role)) roles.emplace_back(role);
    }
    for (std::size_t i = 0; i < taken.size() && !def.call_inputs.empty(); ++i) {
      const std::string role =
          spec.roles.empty() ? roles[std::min(i, roles.size() - 1)] : spec.roles[i];
      if (role == "segments") {
        config::fail_at(spec.at, "a .keras file has no word for segments; {}", kKerasRemedy);
      }
      if (role == def.call_inputs.front()) {
        args.push_back(taken[i]);
      } else if (def.ends_with_list && role == def.call_inputs.back()) {
        arguments[role].push_back(taken[i]);
      } else {
        arguments[role] = taken[i];
      }
    }
    return {{"args", args}, {"kwargs", arguments}};
  }

  /// Keras gives a layer the mask of its input only where that is all that it takes.
  static void check_states(const config::LayerSpec& spec, const LayerDef& def,
                           const NamedValue& output) {
    if (!def.ends_with_list || spec.inputs.size() == 1 || !output.of_masked) return;
    config::fail_at(spec.at,
                    "'{}' takes a sequence with a mask and an initial_state; what a .keras file "
                    "says of them Keras would read without the mask; {}",
                    spec.path, kKerasRemedy);
  }

  const Giver& giver(const config::LayerOutput& output) const {
    return givers_.at(to_string(output));
  }

  Json arguments_with_name(const config::LayerSpec& spec, const std::string& name) const {
    const LayerDef& def = config::look_up(layer_registry(), spec.layer, "layer");
    Json arguments{{"name", name}};
    // Layers without variables have no word for it.
    const bool is_trained = spec.trainable && !freeze_.freezes_layer(spec.path);
    const bool has_word = with_variables_.contains(spec.path);
    if (!is_trained && has_word) {
      check_freezes_parts(spec.layer, def);
      arguments["trainable"] = false;
    }
    HandedOn given{.is_trained = is_trained || !has_word};
    if (config_.precision != config::Precision::kFloat32 && !is_operation(def)) {
      const std::string name = config::to_string(config_.precision);
      arguments["dtype"] = given.dtype = object_of("keras", "DTypePolicy", {{"name", name}});
    }
    arguments.update(layer_arguments(spec.layer, given));
    return arguments;
  }

  /// With the batch as a dimension that may have any size.
  static Json shape_of(const Shape& shape) {
    Json result = shape;
    result[0] = nullptr;
    return result;
  }

  static Json tensor_of(const Giver& giver) {
    return {{"class_name", "__keras_tensor__"},
            {"config",
             {{"shape", shape_of(giver.shape)},
              {"dtype", "float32"},
              {"keras_history", history_of(giver)}}}};
  }

  static Json history_of(const Giver& giver) { return {giver.layer, giver.use, giver.index}; }

  void check_freeze(const Graph& graph, const Variable& variable) const {
    if (!freeze_.freezes_variable(variable.path)) return;
    if (freeze_.freezes_layer(layer_path(graph, variable))) return;
    fail("{}: 'freeze' matches the variable {} alone, and a .keras file can only freeze layers; {}",
         config_.file, variable.path, kKerasRemedy);
  }

  const config::Config& config_;
  const Graph& graph_;
  FreezeRules freeze_;
  std::set<std::string> with_variables_;  ///< paths of layers
  std::map<std::string, Json> layers_;    ///< by their names in Keras
  std::vector<std::string> order_;
  std::map<std::string, int> uses_;      ///< of a path
  std::map<std::string, Giver> givers_;  ///< by what a file calls an output
};

}  // namespace

std::string keras_config(const config::Config& config, const Graph& graph) {
  const Layers layers(config, graph);
  std::vector<config::LayerOutput> inputs, outputs;
  for (const config::InputSpec& input : config.model.inputs) inputs.push_back({input.name});
  for (const config::OutputSpec& output : config.model.outputs) outputs.push_back(output.from);
  Json model = object_of("keras.src.models.functional", "Functional",
                         {{"name", "functional"},
                          {"trainable", true},
                          {"layers", layers.list()},
                          {"input_layers", layers.places(inputs)},
                          {"output_layers", layers.places(outputs)}});
  model["registered_name"] = "Functional";
  if (config.compile) {
    std::vector<std::string> names;
    for (const config::LayerOutput& output : outputs) names.push_back(layers.layer_of(output));
    model["compile_config"] = keras_compile_config(config, names);
  }
  return json_dump(model);
}

}  // namespace meshwork
