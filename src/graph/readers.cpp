#include "graph/readers.h"

namespace meshwork {

Readers::Readers(const Graph& graph) : nodes_(graph.nodes.size()), counts_(graph.nodes.size(), 0) {
  for (const ValueId id : graph.ids()) {
    for (const ValueId input : graph.node(id).inputs) {
      nodes_[input].push_back(id);
      ++counts_[input];
    }
  }
  for (const Update& update : graph.updates) ++counts_[update.value];
  for (const NamedValue& output : graph.outputs) ++counts_[output.value];
}

ValueMap<std::vector<ValueId>> predecessors(const Graph& graph) {
  ValueMap<std::vector<ValueId>> before;
  for (const Node& node : graph.nodes) before.push_back(node.inputs);
  for (const ControlEdge& edge : graph.controls) before[edge.after].push_back(edge.before);
  return before;
}

}  // namespace meshwork
