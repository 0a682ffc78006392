#include <algorithm>
#include <map>

#include "explain/explain.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

/// Names of values, by the node that computes them; the first name of several.
std::map<ValueId, std::string> names_of(const Graph& graph) {
  std::map<ValueId, std::string> names;
  std::map<ValueId, std::string> paths;
  for (const Variable& variable : graph.variables) {
    names.emplace(variable.value, variable.path);
    paths.emplace(variable.value, variable.path);
  }
  for (const NamedValue& output : graph.layer_outputs) {
    names.emplace(without_reshards(graph, output.value), output.name);
  }
  for (const Update& gradient : graph.gradients) {
    names.emplace(without_reshards(graph, gradient.value), paths[gradient.variable] + "/gradient");
  }
  for (const Update& update : graph.updates) {
    names.emplace(without_reshards(graph, update.value), "new " + paths[update.variable]);
  }
  for (const NamedValue& output : graph.outputs) {
    names.emplace(without_reshards(graph, output.value), output.name);
  }
  return names;
}

void add_reader(Move& move, const std::string& path) {
  const bool known =
      std::find(move.readers.begin(), move.readers.end(), path) != move.readers.end();
  if (!known) move.readers.push_back(path);
}

Move move_of(const Partitioned& agreed, ValueId id, const Mesh& mesh,
             const std::map<ValueId, std::string>& names) {
  const Node& node = agreed.graph.node(id);
  Move move;
  move.value = without_reshards(agreed.graph, id);
  const Node& maker = agreed.graph.node(move.value);
  if (const auto name = names.find(move.value); name != names.end()) move.name = name->second;
  move.op = maker.op->name;
  move.maker = maker.path;
  move.layer = node.path;
  move.phase = node.phase;
  move.from = agreed.layouts[node.inputs[0]];
  move.to = agreed.layouts[id];
  move.steps = reshard_steps(move.from, move.to, node.type.shape, mesh);
  for (const ReshardStep& step : move.steps) {
    move.step_bytes.push_back(step_bytes(step, node.type, mesh));
    move.bytes += move.step_bytes.back();
  }
  return move;
}

}  // namespace

std::vector<Move> moves_of(const Partitioned& agreed, const Mesh& mesh) {
  const Graph& graph = agreed.graph;
  const auto names = names_of(graph);
  std::vector<Move> moves;
  ValueMap<std::size_t> move_at(graph.nodes.size(), 0);
  for (const ValueId id : graph.ids()) {
    const Node& node = graph.node(id);
    if (node.op == &kReshard) {
      move_at[id] = moves.size();
      moves.push_back(move_of(agreed, id, mesh, names));
      continue;
    }
    for (const ValueId input : node.inputs) {
      if (graph.node(input).op == &kReshard) add_reader(moves[move_at[input]], node.path);
    }
  }
  return moves;
}

}  // namespace meshwork
