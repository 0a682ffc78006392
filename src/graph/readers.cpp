#include "graph/readers.h"

#include <algorithm>

namespace meshwork {

ValueMap<int> count_readers(const Graph& graph) {
  ValueMap<int> readers(graph.nodes.size(), 0);
  const auto read = [&](ValueId id) { ++readers[id]; };
  for (const Node& node : graph.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), read);
  for (const Update& update : graph.updates) read(update.value);
  for (const NamedValue& output : graph.outputs) read(output.value);
  return readers;
}

ValueMap<std::vector<ValueId>> reading_nodes(const Graph& graph) {
  ValueMap<std::vector<ValueId>> readers(graph.nodes.size());
  for (const ValueId id : graph.ids()) {
    for (const ValueId input : graph.node(id).inputs) readers[input].push_back(id);
  }
  return readers;
}

bool is_read_by_nodes(const ValueMap<int>& readers, const ValueMap<std::vector<ValueId>>& nodes,
                      ValueId id) {
  return readers[id] == static_cast<int>(nodes[id].size());
}

ValueId only_reader(const ValueMap<int>& readers, const ValueMap<std::vector<ValueId>>& nodes,
                    ValueId id) {
  return readers[id] == 1 && nodes[id].size() == 1 ? nodes[id].front() : kNoValue;
}

ValueMap<std::vector<ValueId>> predecessors(const Graph& graph) {
  ValueMap<std::vector<ValueId>> before;
  for (const Node& node : graph.nodes) before.push_back(node.inputs);
  for (const ControlEdge& edge : graph.controls) before[edge.after].push_back(edge.before);
  return before;
}

}  // namespace meshwork
