#include "interchange/keras_config.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "config/lookup.h"
#include "interchange/keras_model.h"
#include "model/activations/activation.h"
#include "model/constraints/constraint.h"
#include "model/freeze.h"
#include "model/initializers/initializer.h"
#include "model/layers/layer.h"
#include "model/losses/loss.h"
#include "model/metrics/metric.h"
#include "model/regularizers/regularizer.h"
#include "optim/loss_scale.h"
#include "optim/optimizer.h"
#include "optim/schedules/schedule.h"
#include "state/keras_names.h"

namespace meshwork {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRemedy = "export a .weights.h5, which holds the weights alone";

/// The name by which Keras knows a class of another package, which stands first in `module`.
Json registered_name(std::string_view module, std::string_view class_name) {
  const std::string_view package = module.substr(0, module.find('.'));
  if (package == "keras") return nullptr;
  return fmt::format("{}>{}", package, class_name);
}

/// Keras's form of an object that it makes from a class and its arguments.
Json object_of(std::string_view module, std::string_view class_name, Json arguments) {
  return {{"module", module},
          {"class_name", class_name},
          {"config", std::move(arguments)},
          {"registered_name", registered_name(module, class_name)}};
}

Json json_of(const config::Value& value) {
  if (value.is_list()) {
    Json list = Json::array();
    for (const config::Value& element : value.list) list.push_back(json_of(element));
    return list;
  }
  if (value.is_map()) {
    Json map = Json::object();
    for (const auto& entry : value.map) map[entry.key] = json_of(entry.value);
    return map;
  }
  if (value.is_null()) return nullptr;
  if (value.quoted) return value.scalar;
  if (value.is_bool()) return value.as_bool("");
  if (value.is_integer()) return value.as_integer("");
  if (value.is_real()) return value.as_real("");
  return value.scalar;
}

Json arguments_of(const config::ClassSpec& spec) {
  return spec.args.is_null() ? Json::object() : json_of(spec.args);
}

bool has_arguments(const config::ClassSpec& spec) { return !spec.args.map.empty(); }

/// A class of one of our registries, whose first spelling is Keras's name of it.
template <class Def>
Json object_of(std::string_view module, const std::vector<const Def*>& registry,
               const config::ClassSpec& spec, std::string_view what) {
  const Def& def = config::look_up(registry, spec, what);
  return object_of(module, def.names.front(), arguments_of(spec));
}

/// The same, or the word alone where it has no arguments.
template <class Def>
Json word_or_object(std::string_view module, const std::vector<const Def*>& registry,
                    const config::ClassSpec& spec, std::string_view what) {
  return has_arguments(spec) ? object_of(module, registry, spec, what) : Json(spec.name);
}

/// A word; with arguments the layer that computes the same, where Keras has one.
Json activation_of(const config::Value& value) {
  static const std::map<std::string_view, const char*> kLayers{
      {"elu", "ELU"}, {"leaky_relu", "LeakyReLU"}, {"relu", "ReLU"}, {"softmax", "Softmax"}};
  const config::ClassSpec spec = config::read_class(value, "activation");
  const ActivationDef& def = config::look_up(activation_registry(), spec, "activation");
  if (!has_arguments(spec)) return def.names.front();
  const auto layer = kLayers.find(def.names.front());
  if (layer != kLayers.end()) {
    return object_of("keras.layers", layer->second, arguments_of(spec));
  }
  config::fail_at(spec.at, "a .keras file has no words for '{}' with arguments; {}", spec.name,
                  kRemedy);
}

bool is_call_argument(const config::ClassSpec& layer, std::string_view key) {
  const auto& keys = config::look_up(layer_registry(), layer, "layer").call_arguments;
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Of one call of the layer.
Json call_arguments(const config::LayerSpec& spec) {
  Json arguments = Json::object();
  for (const auto& [key, at, value] : spec.layer.args.map) {
    if (is_call_argument(spec.layer, key)) arguments[key] = json_of(value);
  }
  return arguments;
}

Json inner_layer(const config::Value& value, const Json& dtype);

/// Of the layer itself. `dtype`: of the layers in it, null where they have the default.
Json layer_arguments(const config::ClassSpec& layer, const Json& dtype) {
  Json arguments = Json::object();
  for (const auto& [key, at, value] : layer.args.map) {
    if (is_call_argument(layer, key)) continue;
    const bool is_initializer = key == "initializer" || key.ends_with("_initializer");
    // To these None means something. For others the default stands here, and Keras may not take it.
    const bool is_activation = key == "activation" || key.ends_with("_activation");
    if (value.is_null() && !is_initializer && !is_activation) continue;
    const bool is_class = !value.is_null();
    if (is_class && is_initializer) {
      arguments[key] = object_of("keras.initializers", initializer_registry(),
                                 config::read_class(value, "initializer"), "initializer");
    } else if (is_class && key.ends_with(kRegularizer)) {
      arguments[key] = object_of("keras.regularizers", regularizer_registry(),
                                 config::read_class(value, "regularizer"), "regularizer");
    } else if (is_class && key.ends_with(kConstraint)) {
      arguments[key] = object_of("keras.constraints", constraint_registry(),
                                 config::read_class(value, "constraint"), "constraint");
    } else if (is_class && is_activation) {
      arguments[key] = activation_of(value);
    } else if (key == "layer" || key == "backward_layer") {
      arguments[key] = inner_layer(value, dtype);
    } else {
      arguments[key] = json_of(value);
    }
  }
  return arguments;
}

/// The layer that another is around.
Json inner_layer(const config::Value& value, const Json& dtype) {
  const config::ClassSpec layer = config::read_class(value, "layer");
  const LayerDef& def = config::look_up(layer_registry(), layer, "layer");
  Json arguments = layer_arguments(layer, dtype);
  if (!dtype.is_null()) arguments["dtype"] = dtype;
  return object_of(def.module, def.exported_as.empty() ? def.names.front() : def.exported_as,
                   std::move(arguments));
}

/// What stands for the output of one use of a layer.
struct Giver {
  std::string layer;
  int use = 0;
  Shape shape;
};

/// The layers of a model, each once, with all its uses.
class Layers {
 public:
  Layers(const config::Config& config, const Graph& graph)
      : config_(config), freeze_(config.model.freeze) {
    for (const Variable& variable : graph.variables) {
      with_variables_.insert(layer_path(graph, variable));
      check_freeze(graph, variable);
    }
    const std::size_t inputs = config.model.inputs.size();
    for (const config::InputSpec& input : config.model.inputs) add_input(input);
    for (std::size_t i = 0; i < config.model.layers.size(); ++i) {
      const config::LayerSpec& spec = config.model.layers[i];
      const NamedValue& output = graph.layer_outputs.at(inputs + i);
      MW_CHECK(output.name == spec.path + "/output", "{}", output.name);
      if (spec.layer.name.empty()) {
        givers_[spec.name] = givers_.at(spec.inputs[0]);
      } else {
        add_use(spec, graph.type(output.value).shape);
      }
    }
  }

  Json list() const {
    Json list = Json::array();
    for (const std::string& name : order_) list.push_back(layers_.at(name));
    return list;
  }

  /// The layer whose output `name` stands for.
  const std::string& layer_of(const std::string& name) const { return givers_.at(name).layer; }

  /// `input_layers` and `output_layers`: one, or a list of several.
  Json places(const std::vector<std::string>& names) const {
    Json places = Json::array();
    for (const std::string& name : names) {
      const Giver& giver = givers_.at(name);
      places.push_back({giver.layer, giver.use, 0});
    }
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
    givers_[input.name] = {input.name, 0, shape};
  }

  void add(const std::string& name, const config::Location& at, std::string_view module,
           std::string_view class_name, Json arguments) {
    Json layer = object_of(module, class_name, std::move(arguments));
    layer["name"] = name;
    layer["inbound_nodes"] = Json::array();
    if (!layers_.emplace(name, std::move(layer)).second) {
      config::fail_at(at, "two layers would have the name '{}' in a .keras file; rename one, or {}",
                      name, kRemedy);
    }
    order_.push_back(name);
  }

  void add_use(const config::LayerSpec& spec, const Shape& shape) {
    const std::string name = flat_name(spec.path);
    const LayerDef& def = config::look_up(layer_registry(), spec.layer, "layer");
    if (def.module.empty()) {
      config::fail_at(spec.at, "a .keras file has no layer '{}'; {}", spec.layer.name, kRemedy);
    }
    const int use = uses_[spec.path]++;
    if (use == 0) {
      const bool is_renamed = !def.exported_as.empty();
      add(name, spec.at, def.module, is_renamed ? def.exported_as : def.names.front(),
          arguments_with_name(spec, name));
    }
    Json taken = Json::array();
    for (const std::string& input : spec.inputs) taken.push_back(tensor_of(givers_.at(input)));
    Json args = Json::array(), arguments = call_arguments(spec);
    const bool takes_list = def.max_inputs > 1 && def.call_inputs.empty();
    if (def.call_inputs.empty()) args.push_back(takes_list ? taken : taken[0]);
    for (std::size_t i = 0; i < def.call_inputs.size() && i < taken.size(); ++i) {
      const std::string role = spec.roles.empty() ? std::string(def.call_inputs[i]) : spec.roles[i];
      if (role == "segments") {
        config::fail_at(spec.at, "a .keras file has no word for segments; {}", kRemedy);
      }
      const bool is_first = role == def.call_inputs.front();
      is_first ? args.push_back(taken[i]) : void(arguments[role] = taken[i]);
    }
    layers_[name]["inbound_nodes"].push_back({{"args", args}, {"kwargs", arguments}});
    givers_[spec.name] = {name, use, shape};
  }

  Json arguments_with_name(const config::LayerSpec& spec, const std::string& name) const {
    Json arguments{{"name", name}};
    // Layers without variables have no word for it.
    const bool is_trained = spec.trainable && !freeze_.freezes_layer(spec.path);
    if (!is_trained && with_variables_.contains(spec.path)) arguments["trainable"] = false;
    Json dtype = nullptr;
    if (config_.precision != config::Precision::kFloat32) {
      const std::string name = config::to_string(config_.precision);
      arguments["dtype"] = dtype = object_of("keras", "DTypePolicy", {{"name", name}});
    }
    arguments.update(layer_arguments(spec.layer, dtype));
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
              {"keras_history", {giver.layer, giver.use, 0}}}}};
  }

  void check_freeze(const Graph& graph, const Variable& variable) const {
    if (!freeze_.freezes_variable(variable.path)) return;
    if (freeze_.freezes_layer(layer_path(graph, variable))) return;
    fail("{}: 'freeze' matches the variable {} alone, and a .keras file can only freeze layers; {}",
         config_.file, variable.path, kRemedy);
  }

  const config::Config& config_;
  FreezeRules freeze_;
  std::set<std::string> with_variables_;  ///< paths of layers
  std::map<std::string, Json> layers_;    ///< by their names in Keras
  std::vector<std::string> order_;
  std::map<std::string, int> uses_;  ///< of a path
  std::map<std::string, Giver> givers_;
};

Json optimizer_of(const config::ClassSpec& spec) {
  Json arguments = arguments_of(spec);
  arguments.erase("exclude_from_weight_decay");  // in Keras a call, which its files leave out, too
  if (scales_losses(spec)) {
    const LossScaling scaling = read_loss_scaling(spec);
    arguments["inner_optimizer"] = optimizer_of(scaling.inner);
    return object_of("keras.optimizers", config::kLossScaleOptimizer, std::move(arguments));
  }
  if (const std::optional<config::ClassSpec> schedule = schedule_of(spec)) {
    arguments["learning_rate"] =
        object_of("keras.optimizers.schedules", schedule_registry(), *schedule, "schedule");
  }
  return object_of("keras.optimizers", state_of(spec, {}).class_name, std::move(arguments));
}

Json loss_of(const std::optional<config::ClassSpec>& spec) {
  return spec ? word_or_object("keras.losses", loss_registry(), *spec, "loss") : Json();
}

/// A word alone stands for one of Keras's own.
Json metric_of(const config::ClassSpec& spec) {
  for (const MetricDef* def : metric_registry()) {
    const bool is_it =
        std::find(def->names.begin(), def->names.end(), spec.name) != def->names.end();
    if (is_it && (has_arguments(spec) || !def->module.starts_with("keras."))) {
      return object_of(def->module, def->names.front(), arguments_of(spec));
    }
  }
  return word_or_object("keras.metrics", metric_registry(), spec, "metric");
}

Json metrics_of(const std::vector<config::ClassSpec>& specs) {
  Json metrics = Json::array();
  for (const config::ClassSpec& spec : specs) {
    metrics.push_back(metric_of(spec));
  }
  return metrics;
}

/// What is said of each output: that of the only one, or a map by the names of their layers.
template <class Say>
Json of_outputs(const config::Config& config, const Layers& layers, const Say& say) {
  const std::vector<config::ObjectiveSpec>& objectives = config.compile->objectives;
  if (objectives.size() == 1) return say(objectives.front());
  Json all = Json::object();
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const config::OutputSpec& output = config.model.outputs.at(i);
    const auto [entry, is_new] = all.emplace(layers.layer_of(output.layer), say(objectives[i]));
    if (is_new) continue;
    config::fail_at(output.at, "two outputs are of layer '{}', which a .keras file cannot say; {}",
                    entry.key(), kRemedy);
  }
  return all;
}

Json compile_of(const config::Config& config, const Layers& layers) {
  using Objective = config::ObjectiveSpec;
  const auto say = [&](const auto& what) { return of_outputs(config, layers, what); };
  Json compile{{"optimizer", optimizer_of(config.compile->optimizer)},
               {"loss", say([](const Objective& of) { return loss_of(of.loss); })}};
  if (config.compile->objectives.size() > 1) {
    compile["loss_weights"] = say([](const Objective& of) { return Json(of.weight); });
  }
  compile["metrics"] = say([](const Objective& of) { return metrics_of(of.metrics); });
  compile["weighted_metrics"] =
      say([](const Objective& of) { return metrics_of(of.weighted_metrics); });
  return compile;
}

}  // namespace

std::string keras_config(const config::Config& config, const Graph& graph) {
  const Layers layers(config, graph);
  std::vector<std::string> inputs, outputs;
  for (const config::InputSpec& input : config.model.inputs) inputs.push_back(input.name);
  for (const config::OutputSpec& output : config.model.outputs) outputs.push_back(output.layer);
  Json model = object_of("keras.src.models.functional", "Functional",
                         {{"name", "functional"},
                          {"trainable", true},
                          {"layers", layers.list()},
                          {"input_layers", layers.places(inputs)},
                          {"output_layers", layers.places(outputs)}});
  model["registered_name"] = "Functional";
  if (config.compile) model["compile_config"] = compile_of(config, layers);
  return model.dump();
}

}  // namespace meshwork
