#include "graph/readers.h"

#include <algorithm>

namespace meshwork {

std::vector<int> count_readers(const Graph& graph) {
  std::vector<int> readers(graph.nodes.size(), 0);
  const auto read = [&](ValueId id) { ++readers[static_cast<std::size_t>(id)]; };
  for (const Node& node : graph.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), read);
  for (const Update& update : graph.updates) read(update.value);
  for (const NamedValue& output : graph.outputs) read(output.value);
  return readers;
}

std::vector<std::vector<ValueId>> reading_nodes(const Graph& graph) {
  std::vector<std::vector<ValueId>> readers(graph.nodes.size());
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    for (const ValueId input : graph.node(id).inputs) {
      readers[static_cast<std::size_t>(input)].push_back(id);
    }
  }
  return readers;
}

}  // namespace meshwork
