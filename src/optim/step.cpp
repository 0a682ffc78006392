#include "optim/step.h"

#include <map>

#include "base/check.h"
#include "graph/op_def.h"
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

}  // namespace

ValueId loss_scale(Graph& graph, const config::ClassSpec& optimizer) {
  GraphBuilder b(graph);
  return loss_scale(b, optimizer);
}

void add_update(Graph& graph, const config::ClassSpec& optimizer, bool accumulates) {
  GraphBuilder b(graph);
  std::map<ValueId, std::size_t> variable_of;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    variable_of[graph.variables[i].value] = i;
  }
  std::vector<Gradient> given;
  for (const auto& [weight, gradient] : graph.gradients) {
    given.push_back({variable_of.at(weight), gradient});
  }
  accumulates ? add_accumulation(b, optimizer, given) : add_optimizer(b, optimizer, given);
}

Graph initialization(const Graph& step) {
  Graph graph = only_variables(step);
  for (const Variable& variable : graph.variables) {
    // A node of its own for each variable, so that none has to share a layout.
    const OpArgs args{.inputs = {}, .attrs = variable.init_attrs, .output = {}};
    const TensorType type = variable.init->infer(args);
    const Node node = graph.node(variable.value);
    MW_CHECK(type == node.type, "'{}' is {}, but starts as {}", variable.path, to_string(node.type),
             to_string(type));
    const ValueId value = graph.nodes.append({.op = variable.init,
                                              .inputs = {},
                                              .attrs = variable.init_attrs,
                                              .type = type,
                                              .path = node.path,
                                              .phase = Phase::kUpdate});
    graph.updates.push_back({variable.value, value});
  }
  return graph;
}

Graph averaging(const Graph& step, const config::ClassSpec& optimizer) {
  Graph graph = only_variables(step);
  graph.updates = averages_in_place(graph, optimizer);
  return graph;
}

}  // namespace meshwork
