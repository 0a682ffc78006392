#include "model/build.h"

#include "base/error.h"
#include "graph/op_def.h"

namespace meshwork {

config::Config config_of(const std::string& text) {
  return config::parse_config(text, "c.yaml", {});
}

Graph build(const std::string& text, Mode mode, std::int64_t batch,
            const std::vector<Field>& label) {
  const config::Config config = config_of(text);
  Signature signature = stated_signature(config.model);
  if (!label.empty()) signature.label = label[0];
  Graph graph = build_model(config, signature, mode, batch);
  verify(graph);
  return graph;
}

std::string build_error(const std::string& text, Mode mode, const std::vector<Field>& label) {
  try {
    build(text, mode, 4, label);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::vector<std::string> variable_paths(const Graph& graph) {
  std::vector<std::string> paths;
  for (const Variable& variable : graph.variables) paths.push_back(variable.path);
  return paths;
}

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.emplace_back(node.op->name);
  return names;
}

}  // namespace meshwork
