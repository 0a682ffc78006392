#include "graph/verifier.h"

#include <optional>

#include "base/check.h"
#include "graph/dim_rule.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

std::string text_of(const std::optional<TensorType>& type) {
  return type ? to_string(*type) : "nothing";
}

/// The part of a dimension that the device holds.
Interval interval_of(const Graph& graph, ValueId id, std::size_t dim) {
  const std::int64_t begin = graph.regions[id].offset[dim];
  return {begin, begin + graph.type(id).shape[dim]};
}

/// A block that a device sends, receives or joins has no dimensions of its own: the number of its
/// elements is what the op infers.
bool is_inferred(const Node& node, const std::optional<TensorType>& inferred) {
  if (!inferred || !node.collective) return inferred == node.type;
  return inferred->dtype == node.type.dtype &&
         num_elements(inferred->shape) == num_elements(node.type.shape);
}

void check_window(const Graph& graph, ValueId id) {
  const Shape& local = graph.type(id).shape;
  const Region& region = graph.regions[id];
  bool fits = region.global.size() == local.size() && region.offset.size() == local.size();
  for (std::size_t d = 0; fits && d < local.size(); ++d) {
    fits = region.offset[d] >= 0 && region.offset[d] + local[d] <= region.global[d];
  }
  MW_CHECK(fits, "%{} = {} is {} of {} at {}", id, graph.node(id).op->name, to_string(local),
           to_string(region.global), to_string(region.offset));
}

}  // namespace

/// Whether the operands and the result of a node are parts of global tensors that belong together:
/// the op takes the global ones, and a factor of its rule goes over the same interval wherever it
/// stands. A dimension that is read by regions (`~`), or merged of several, may differ.
bool Verifier::fits_windows(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  inputs_.clear();
  for (const ValueId input : node.inputs) {
    inputs_.push_back({graph.type(input).dtype, &graph.global_shape(input)});
  }
  const DimRule* const rule =
      KnownNodes::rule(known_.find(node, inputs_, {node.type.dtype, &graph.global_shape(id)}));
  if (rule == nullptr) return false;

  std::vector<std::optional<Interval>> intervals(rule->factors.size());
  const auto agrees = [&](ValueId value, const DimRule::Operand& dims,
                          const DimRule::Marks* marks) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Interval part = interval_of(graph, value, d);
      if (dims[d].empty() && part.size() != graph.global_shape(value)[d]) return false;
      if (dims[d].size() != 1 || (marks != nullptr && (*marks)[d])) continue;
      auto& interval = intervals[static_cast<std::size_t>(dims[d][0])];
      // Nothing stands nowhere in particular.
      const bool same =
          !interval || *interval == part || (interval->size() == 0 && part.size() == 0);
      if (!same) return false;
      interval = part;
    }
    return true;
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!agrees(node.inputs[i], rule->inputs[i], &rule->reaches[i])) return false;
  }
  return agrees(id, rule->output, nullptr);
}

void Verifier::check_node(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  MW_CHECK(node.op != nullptr, "%{} has no op", id);
  for (const ValueId input : node.inputs) {
    MW_CHECK(input >= 0 && input < id, "%{} = {} uses %{} before it is there", id, node.op->name,
             input);
  }
  MW_CHECK(is_collective(node) == node.collective.has_value(), "%{} = {}: whose collective is it?",
           id, node.op->name);
  if (!graph.regions.empty()) {
    check_window(graph, id);
    if (fits_windows(graph, id)) return;
  }
  const auto& inferred = known_.find(graph, node).inferred;
  MW_CHECK(is_inferred(node, inferred), "%{} = {} is {}, but infers {}", id, node.op->name,
           to_string(node.type), text_of(inferred));
}

void Verifier::verify(const Graph& graph) {
  MW_CHECK(graph.regions.empty() || graph.regions.size() == graph.nodes.size());
  for (const ValueId id : graph.ids()) check_node(graph, id);
  const auto check_value = [&](ValueId id, const char* what) {
    MW_CHECK(id >= 0 && id < graph.end(), "{} names %{} of {} values", what, id, graph.end());
  };
  for (const Variable& variable : graph.variables) check_value(variable.value, "a variable");
  for (const NamedValue& output : graph.outputs) check_value(output.value, "an output");
  for (const NamedValue& output : graph.layer_outputs) check_value(output.value, "a layer output");
  for (const Update& gradient : graph.gradients) check_value(gradient.value, "a gradient");
  for (const Update& update : graph.updates) {
    check_value(update.variable, "an update");
    check_value(update.value, "an update");
    MW_CHECK(graph.type(update.variable) == graph.type(update.value), "update of %{} by %{}",
             update.variable, update.value);
  }
  for (const ControlEdge& edge : graph.controls) {
    check_value(edge.before, "an edge");
    check_value(edge.after, "an edge");
    MW_CHECK(edge.before < edge.after, "%{} runs before %{}", edge.after, edge.before);
  }
}

void verify(const Graph& graph) { Verifier().verify(graph); }

}  // namespace meshwork
