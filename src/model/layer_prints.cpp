#include "model/layer_prints.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "config/yaml.h"
#include "graph/op_def.h"
#include "model/model.h"

namespace meshwork {
namespace {

/// The layer as the file has it, on one line.
std::string describe(const config::ClassSpec& layer) {
  if (layer.args.is_null() || (layer.args.is_map() && layer.args.map.empty())) return layer.name;
  std::string text = to_yaml(layer.args);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    text.replace(at, 1, ", ");
  }
  return fmt::format("{}: {{{}}}", layer.name, text);
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

}  // namespace

std::map<std::string, LayerPrint> layer_prints(const config::Config& config) {
  config::Config plain = config;
  plain.precision = config::Precision::kFloat32;
  const Graph graph = build_model(plain, stated_signature(plain.model), Mode::kPredict, 1);
  std::map<std::string, LayerPrint> prints;
  for (const auto& [path, text] : node_texts(graph)) {
    prints[path].hash = XXH3_64bits(text.data(), text.size());
  }
  for (const config::LayerSpec& layer : config.model.layers) {
    const auto print = prints.find(layer.path);
    if (print != prints.end()) print->second.text = describe(layer.layer);
  }
  return prints;
}

}  // namespace meshwork
