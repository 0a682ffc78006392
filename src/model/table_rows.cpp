#include "model/layer_graph.h"
#include "model/model.h"
#include "model/scope.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// The input whose elements, in their order, `id` has; "" if that is none.
std::string field_of(const Graph& graph, ValueId id) {
  while (graph.node(id).op->same_elements) id = graph.node(id).inputs[0];
  const Node& node = graph.node(id);
  return node.op == &ops::kInput ? node.attrs.text("name") : "";
}

/// That of the variable behind its casts.
const std::string& path_of(const Graph& graph, ValueId id) {
  while (graph.node(id).op->same_elements) id = graph.node(id).inputs[0];
  return graph.node(id).attrs.text("path");
}

}  // namespace

std::map<std::string, TableRows> table_rows(const config::Config& config, Signature signature) {
  for (Field& field : signature.inputs) field.stored.reset();
  const Graph graph = build_model(config, signature, Mode::kPredict, 1);
  std::map<std::string, TableRows> result;
  for (const Node& node : graph.nodes) {
    if (node.op != &ops::kEmbedding) continue;
    const std::string field = field_of(graph, node.inputs[1]);
    const std::int64_t rows = graph.type(node.inputs[0]).shape[0];
    const auto known = result.find(field);
    if (field.empty() || (known != result.end() && known->second.count <= rows)) continue;
    result[field] = {rows, path_of(graph, node.inputs[0])};
  }
  return result;
}

}  // namespace meshwork
