#include "model/layer_prints.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "config/yaml.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "model/input_fields.h"
#include "model/layer_graph.h"
#include "model/objective.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// The layer as the file has it, on one line.
std::string describe(const config::ClassSpec& layer) {
  if (layer.args.is_null() || (layer.args.is_map() && layer.args.map.empty())) return layer.name;
  return fmt::format("{}: {}", layer.name, to_line(layer.args));
}

/// The nodes of each layer as text. Inputs are named by the place of what they come from among the
/// nodes of its layer.
std::map<std::string, std::string> node_texts(const Graph& graph) {
  std::map<ValueId, std::string> names;
  std::map<std::string, std::string> texts;
  std::map<std::string, int> counts;
  for (const ValueId id : graph.ids()) {
    const Node& node = graph.node(id);
    names[id] = fmt::format("{}#{}", node.path, counts[node.path]++);
    std::string& text = texts[node.path];
    text += fmt::format("{} {} {}(", node.op->name, to_string(node.attrs), to_string(node.type));
    for (const ValueId input : node.inputs) text += names.at(input) + ",";
    text += ")\n";
  }
  for (const NamedValue& output : graph.outputs) {
    texts[graph.node(output.value).path] += fmt::format("output {}\n", names.at(output.value));
  }
  return texts;
}

/// The layer that a path of its own, or of one of its variables, belongs to.
std::string layer_of(std::string path, const std::map<std::string, std::string>& layers) {
  for (std::string part = path; !part.empty();) {
    if (layers.contains(part)) return part;
    const std::size_t slash = part.rfind('/');
    part.resize(slash == std::string::npos ? 0 : slash);
  }
  return path;
}

config::Config in_float32(const config::Config& config) {
  config::Config plain = config;
  plain.precision = config::Precision::kFloat32;
  return plain;
}

/// By path what each layer is in the file.
std::map<std::string, std::string> layer_texts(const config::Config& config) {
  std::map<std::string, std::string> texts;
  for (const config::LayerSpec& layer : config.model.layers) {
    texts[layer.path] = describe(layer.layer);
  }
  return texts;
}

std::map<std::string, LayerPrint> prints_of(const std::map<std::string, std::string>& nodes,
                                            const config::Config& config) {
  std::map<std::string, LayerPrint> prints;
  for (const auto& [path, text] : nodes) prints[path].hash = XXH3_64bits(text.data(), text.size());
  for (const auto& [path, text] : layer_texts(config)) {
    const auto print = prints.find(path);
    if (print != prints.end()) print->second.text = text;
  }
  return prints;
}

/// The layers of a model that is trained, on two samples.
std::vector<Prediction> add_trained(GraphBuilder& b, const config::Config& config,
                                    const Signature& signature) {
  Scope scope(b, config.seed, true);
  const auto inputs = add_inputs(b, config.model, signature, label_names(config), 2);
  const auto predictions = add_layers(scope, config.model, config.precision, inputs);
  scope.add_penalties();
  return predictions;
}

}  // namespace

std::map<std::string, LayerPrint> layer_prints(const config::Config& config) {
  const config::Config plain = in_float32(config);
  const Signature signature = stated_signature(plain.model);
  return prints_of(node_texts(build_model(plain, signature, Mode::kPredict, 1)), config);
}

std::map<std::string, LayerPrint> training_prints(const config::Config& config) {
  const config::Config plain = in_float32(config);
  Graph graph;
  GraphBuilder b(graph);
  add_trained(b, plain, stated_signature(plain.model));
  const std::map<std::string, std::string> layers = layer_texts(config);
  std::map<std::string, std::string> texts;
  for (const auto& [path, text] : node_texts(graph)) texts[layer_of(path, layers)] += text;
  for (const Variable& variable : graph.variables) {
    if (!variable.trainable) texts[layer_of(variable.path, layers)] += variable.path + "\n";
  }
  std::map<std::string, LayerPrint> prints = prints_of(texts, config);
  for (const config::LayerSpec& layer : config.model.layers) {
    if (!layer.trainable) prints[layer.path].text += ", trainable: false";
  }
  return prints;
}

std::string loss_print(const config::Config& config, const Signature& signature) {
  config::Config plain = in_float32(config);
  for (config::ObjectiveSpec& objective : plain.compile->objectives) {
    objective.metrics.clear();
    objective.weighted_metrics.clear();
  }
  Graph model, loss;
  GraphBuilder layers(model), b(loss);
  std::vector<Prediction> predictions = add_trained(layers, plain, signature);
  const auto as_input = [&](ValueId& value, const char* name, std::size_t output) {
    if (value == kNoValue) return;
    value = ops::input(b, fmt::format("{}_{}", name, output), model.type(value));
  };
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    as_input(predictions[i].value, "prediction", i);
    as_input(predictions[i].mask, "mask", i);
  }
  add_objectives(b, plain, signature, Mode::kTrain, 2, predictions, {}, nullptr);
  return print(loss);
}

}  // namespace meshwork
