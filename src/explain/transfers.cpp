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

void add_reader(Transfer& transfer, const std::string& path) {
  const bool known =
      std::find(transfer.readers.begin(), transfer.readers.end(), path) != transfer.readers.end();
  if (!known) transfer.readers.push_back(path);
}

Transfer transfer_of(const Partitioned& agreed, ValueId id, const Mesh& mesh,
                     const std::map<ValueId, std::string>& names) {
  const Node& node = agreed.graph.node(id);
  Transfer transfer;
  transfer.value = without_reshards(agreed.graph, id);
  const Node& maker = agreed.graph.node(transfer.value);
  if (const auto name = names.find(transfer.value); name != names.end())
    transfer.name = name->second;
  transfer.op = maker.op->name;
  transfer.maker = maker.path;
  transfer.layer = node.path;
  transfer.phase = node.phase;
  transfer.from = agreed.layouts[node.inputs[0]];
  transfer.to = agreed.layouts[id];
  transfer.steps = reshard_steps(transfer.from, transfer.to, node.type.shape, mesh);
  for (const ReshardStep& step : transfer.steps) {
    transfer.step_bytes.push_back(step_bytes(step, node.type, mesh));
    transfer.bytes += transfer.step_bytes.back();
  }
  return transfer;
}

}  // namespace

std::vector<Transfer> transfers_of(const Partitioned& agreed, const Mesh& mesh) {
  const Graph& graph = agreed.graph;
  const auto names = names_of(graph);
  std::vector<Transfer> transfers;
  ValueMap<std::size_t> move_at(graph.nodes.size(), 0);
  for (const ValueId id : graph.ids()) {
    const Node& node = graph.node(id);
    if (node.op == &kReshard) {
      move_at[id] = transfers.size();
      transfers.push_back(transfer_of(agreed, id, mesh, names));
      continue;
    }
    for (const ValueId input : node.inputs) {
      if (graph.node(input).op == &kReshard) add_reader(transfers[move_at[input]], node.path);
    }
  }
  return transfers;
}

Sent sent_for(const std::vector<Transfer>& transfers) {
  Sent sent;
  for (const Transfer& transfer : transfers) {
    sent.bytes += transfer.bytes;
    sent.collectives += std::ranges::count_if(transfer.steps, sends);
  }
  return sent;
}

}  // namespace meshwork
