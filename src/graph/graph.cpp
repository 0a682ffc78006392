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

ValueId input_value(const Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op->name == "input" && node.attrs.text("name") == name) return static_cast<ValueId>(i);
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

void verify(const Graph& graph) {
  const auto count = static_cast<ValueId>(graph.nodes.size());
  const auto check_value = [&](ValueId id, const char* what) {
    MW_CHECK(id >= 0 && id < count, "{} names %{} of {} values", what, id, count);
  };
  for (ValueId id = 0; id < count; ++id) {
    const Node& node = graph.node(id);
    MW_CHECK(node.op != nullptr, "%{} has no op", id);
    for (const ValueId input : node.inputs) {
      MW_CHECK(input >= 0 && input < id, "%{} = {} uses %{} before it is there", id, node.op->name,
               input);
    }
    if (!graph.windows.empty()) continue;  // local shapes are not what the ops infer
    const auto types = input_types(graph, node);
    const TensorType inferred =
        node.op->infer({.inputs = types, .attrs = node.attrs, .output = {}});
    MW_CHECK(inferred == node.type, "%{} = {} is {}, but infers {}", id, node.op->name,
             to_string(node.type), to_string(inferred));
  }
  MW_CHECK(graph.windows.empty() || graph.windows.size() == graph.nodes.size());
  for (const Variable& variable : graph.variables) check_value(variable.value, "a variable");
  for (const NamedValue& output : graph.outputs) check_value(output.value, "an output");
  for (const NamedValue& output : graph.layer_outputs) check_value(output.value, "a layer output");
  for (const Update& update : graph.updates) {
    check_value(update.variable, "an update");
    check_value(update.value, "an update");
    MW_CHECK(graph.type(update.variable) == graph.type(update.value), "update of %{} by %{}",
             update.variable, update.value);
  }
}

Graph prune(const Graph& graph) {
  std::vector<bool> needed(graph.nodes.size(), false);
  const auto need = [&](ValueId id) { needed[static_cast<std::size_t>(id)] = true; };
  for (const Variable& variable : graph.variables) need(variable.value);
  for (const Update& update : graph.updates) need(update.value);
  for (const NamedValue& output : graph.outputs) need(output.value);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (graph.nodes[i].op->name == "input") needed[i] = true;
    if (!needed[i]) continue;
    for (const ValueId input : graph.nodes[i].inputs) need(input);
  }

  std::vector<ValueId> order;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (needed[i]) order.push_back(static_cast<ValueId>(i));
  }
  return in_order(graph, order);
}

Graph in_order(const Graph& graph, std::span<const ValueId> order) {
  Graph result;
  std::vector<ValueId> renamed(graph.nodes.size(), kNoValue);
  const auto rename = [&](ValueId id) { return renamed[static_cast<std::size_t>(id)]; };
  for (const ValueId id : order) {
    renamed[static_cast<std::size_t>(id)] = static_cast<ValueId>(result.nodes.size());
    result.nodes.push_back(graph.node(id));
    if (!graph.windows.empty())
      result.windows.push_back(graph.windows[static_cast<std::size_t>(id)]);
  }
  for (Node& node : result.nodes) {
    for (ValueId& input : node.inputs) input = rename(input);
    if (node.gradient_of != kNoValue) node.gradient_of = rename(node.gradient_of);
  }
  result.variables = graph.variables;
  for (Variable& variable : result.variables) variable.value = rename(variable.value);
  for (const Update& update : graph.updates) {
    result.updates.push_back({rename(update.variable), rename(update.value)});
  }
  for (const Update& gradient : graph.gradients) {
    if (rename(gradient.value) != kNoValue) {
      result.gradients.push_back({rename(gradient.variable), rename(gradient.value)});
    }
  }
  for (const NamedValue& output : graph.outputs) {
    result.outputs.push_back({output.name, rename(output.value)});
  }
  for (const NamedValue& output : graph.layer_outputs) {
    if (rename(output.value) != kNoValue) {
      result.layer_outputs.push_back({output.name, rename(output.value)});
    }
  }
  return result;
}

}  // namespace meshwork
