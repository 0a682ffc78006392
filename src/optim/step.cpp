#include "optim/step.h"

#include <map>

#include "base/check.h"
#include "graph/builder.h"
#include "graph/op_def.h"
#include "ops/ops.h"
#include "optim/optimizer.h"

namespace meshwork {
namespace {

/// A program without nodes, but with the variables of `step`.
Graph only_variables(const Graph& step) {
  Graph graph;
  for (const Variable& variable : step.variables) {
    Variable copy = variable;
    copy.value = graph.nodes.append(step.node(variable.value));
    graph.variables.push_back(copy);
  }
  return graph;
}

/// A vector with 1 in the place of its elements [part[0], part[1]).
ValueId with_ones(GraphBuilder& b, ValueId vector, const Shape& part) {
  const std::int64_t end = b.shape(vector)[0];
  const auto slice = [&](std::int64_t start, std::int64_t size) {
    return b.add(ops::kSlice, {vector},
                 {{"axis", std::int64_t{0}}, {"start", start}, {"size", size}});
  };
  const ValueId ones = ops::broadcast_to(b, ops::constant_like(b, 1, vector), {part[1] - part[0]});
  return b.add(ops::kConcatenate, {slice(0, part[0]), ones, slice(part[1], end - part[1])},
               {{"axis", std::int64_t{0}}});
}

}  // namespace

ValueId loss_scale(Graph& graph, const config::ClassSpec& optimizer) {
  GraphBuilder b(graph);
  return loss_scale(b, optimizer);
}

void add_update(Graph& graph, const config::ClassSpec& optimizer, bool accumulates) {
  GraphBuilder b(graph);
  const std::vector<Update> gradients = graph.gradients;
  accumulates ? add_accumulation(b, optimizer, gradients) : add_optimizer(b, optimizer, gradients);
}

Graph initialization(const Graph& step) {
  Graph graph = only_variables(step);
  GraphBuilder b(graph);
  b.set_phase(Phase::kUpdate);
  for (const Variable& variable : graph.variables) {
    // A node of its own for each variable, so that none has to share a layout.
    const TensorType type =
        variable.init->infer({.inputs = {}, .attrs = variable.init_attrs, .output = {}});
    const Node node = graph.node(variable.value);
    MW_CHECK(type == node.type, "'{}' is {}, but starts as {}", variable.path, to_string(node.type),
             to_string(type));
    ValueId value = graph.nodes.append({.op = variable.init,
                                        .inputs = {},
                                        .attrs = variable.init_attrs,
                                        .type = type,
                                        .path = node.path,
                                        .phase = Phase::kUpdate});
    b.set_path(node.path);
    if (!variable.ones.empty()) value = with_ones(b, value, variable.ones);
    graph.updates.push_back({variable.value, value});
  }
  return graph;
}

Graph averaging(const Graph& step, const config::ClassSpec& optimizer) {
  Graph graph = only_variables(step);
  graph.updates = averages_in_place(graph, optimizer);
  return graph;
}

Graph reduction_of_sums(const Graph& step) {
  Graph graph = only_variables(step);
  GraphBuilder b(graph);
  b.set_phase(Phase::kUpdate);
  std::map<std::string, ValueId> weights;
  for (const Variable& variable : graph.variables) weights.emplace(variable.path, variable.value);
  for (const Variable& variable : graph.variables) {
    if (graph.node(variable.value).attrs.find("sums") == nullptr) continue;
    b.set_path(graph.node(variable.value).path);
    const ValueId whole = ops::scale(b, variable.value, 1.0);
    graph.gradients.push_back({weights.at(variable.slot_of), whole});
    graph.updates.push_back({variable.value, whole});
  }
  return graph;
}

}  // namespace meshwork
