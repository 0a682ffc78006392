#include <algorithm>

#include "config/lookup.h"
#include "model/layers/layer.h"
#include "model/model.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

bool may_have_tables(const config::ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const config::LayerSpec& spec) {
    return !spec.layer.name.empty() &&
           config::look_up(layer_registry(), spec.layer, "layer").takes_any_dtype;
  });
}

/// The first value that has the elements of `id` in their order.
const Node& source_of(const Graph& graph, ValueId id) {
  while (graph.node(id).op->same_elements) id = graph.node(id).inputs[0];
  return graph.node(id);
}

}  // namespace

std::map<std::string, TableRows> table_rows(const config::Config& config, Signature signature) {
  if (!may_have_tables(config.model)) return {};
  for (Field& field : signature.inputs) field.stored.reset();
  const Graph graph = build_model(config, signature, Mode::kPredict, 1);
  std::map<std::string, TableRows> result;
  for (const Node& node : graph.nodes) {
    if (node.op != &ops::kEmbedding) continue;
    const Node& numbers = source_of(graph, node.inputs[1]);
    if (numbers.op != &ops::kInput) continue;
    const std::string& field = numbers.attrs.text("name");
    const std::int64_t rows = graph.type(node.inputs[0]).shape[0];
    const auto known = result.find(field);
    if (known != result.end() && known->second.count <= rows) continue;
    const Node& table = source_of(graph, node.inputs[0]);
    // One that is computed, as LoRA does, goes by the name of its layer.
    const bool is_variable = table.op == &ops::kVariable;
    result[field] = {rows, is_variable ? table.attrs.text("path") : node.path};
  }
  return result;
}

}  // namespace meshwork
