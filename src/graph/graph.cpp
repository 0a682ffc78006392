#include "graph/graph.h"

#include <fmt/format.h>

#include "base/check.h"
#include "graph/op_def.h"

namespace meshwork {

std::string to_string(const TensorType& type) {
  return fmt::format("{}{}", to_string(type.dtype), to_string(type.shape));
}

std::int64_t num_bytes(const TensorType& type) {
  return num_elements(type.shape) * static_cast<std::int64_t>(size_of(type.dtype));
}

std::vector<TensorType> input_types(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (const ValueId input : node.inputs) types.push_back(graph.type(input));
  return types;
}

std::vector<TensorType> global_input_types(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (const ValueId input : node.inputs) types.push_back(graph.global_type(input));
  return types;
}

ValueId input_value(const Graph& graph, std::string_view name) {
  for (const ValueId id : graph.ids()) {
    const Node& node = graph.node(id);
    if (node.op->leaf == Leaf::kInput && node.attrs.text("name") == name) return id;
  }
  return kNoValue;
}

ValueId output_value(const Graph& graph, std::string_view name) {
  for (const NamedValue& output : graph.outputs) {
    if (output.name == name) return output.value;
  }
  MW_CHECK(false, "the program has no output '{}'", name);
  return kNoValue;
}

Node remap(Node node, const Renaming& renamed) {
  for (ValueId& input : node.inputs) input = renamed[input];
  if (node.gradient_of != kNoValue) node.gradient_of = renamed[node.gradient_of];
  return node;
}

void remap_names(const Graph& from, const Renaming& renamed, Graph& to) {
  to.variables = from.variables;
  for (Variable& variable : to.variables) variable.value = renamed[variable.value];
  for (const auto& [variable, value] : from.updates) {
    to.updates.push_back({renamed[variable], renamed[value]});
  }
  for (const auto& [variable, value] : from.gradients) {
    if (renamed[value] != kNoValue) to.gradients.push_back({renamed[variable], renamed[value]});
  }
  to.outputs = from.outputs;
  for (NamedValue& output : to.outputs) output.value = renamed[output.value];
  for (NamedValue output : from.layer_outputs) {
    output.value = renamed[output.value];
    if (output.value != kNoValue) to.layer_outputs.push_back(std::move(output));
  }
  for (const auto& [before, after] : from.controls) {
    if (renamed[before] == kNoValue || renamed[after] == kNoValue) continue;
    to.controls.push_back({renamed[before], renamed[after]});
  }
}

Graph prune(Graph graph) {
  ValueMap<bool> needed(graph.nodes.size(), false);
  for (const Variable& variable : graph.variables) needed[variable.value] = true;
  for (const Update& update : graph.updates) needed[update.value] = true;
  for (const NamedValue& output : graph.outputs) needed[output.value] = true;
  for (ValueId id = graph.end() - 1; id >= 0; --id) {
    if (graph.node(id).op->leaf == Leaf::kInput) needed[id] = true;
    if (!needed[id]) continue;
    for (const ValueId input : graph.node(id).inputs) needed[input] = true;
  }

  std::vector<ValueId> order;
  for (const ValueId id : graph.ids()) {
    if (needed[id]) order.push_back(id);
  }
  if (order.size() < graph.nodes.size()) graph = in_order(std::move(graph), order);
  return graph;
}

Graph in_order(Graph graph, std::span<const ValueId> order) {
  Graph result;
  Renaming renamed(graph.nodes.size(), kNoValue);
  for (const ValueId id : order) {
    renamed[id] = result.nodes.append(remap(std::move(graph.node(id)), renamed));
    if (!graph.regions.empty()) result.regions.push_back(std::move(graph.regions[id]));
  }
  remap_names(graph, renamed, result);
  return result;
}

}  // namespace meshwork
