#pragma once

#include <vector>

#include "graph/graph.h"

namespace meshwork {

/// Who reads each value of a graph, as it was when this was made: it keeps nothing of the graph, so
/// a pass may change nodes and still ask who read them before. Values added since are not known.
class Readers {
 public:
  explicit Readers(const Graph& graph);

  /// The nodes that read a value, in order, once for each operand.
  const std::vector<ValueId>& nodes(ValueId id) const { return nodes_[id]; }

  /// How often a value is read: by nodes(), by updates, which make it the value of a variable, and
  /// as an output. What only has a name (gradients, outputs of layers) is not read.
  int count(ValueId id) const { return counts_[id]; }

  /// Whether no update reads a value, and no output is one. So it is where nobody does.
  bool are_nodes(ValueId id) const { return counts_[id] == static_cast<int>(nodes_[id].size()); }

  /// The node that alone reads a value, once; kNoValue: there is none, or something else does, too.
  ValueId only_node(ValueId id) const {
    return counts_[id] == 1 && nodes_[id].size() == 1 ? nodes_[id].front() : kNoValue;
  }

 private:
  ValueMap<std::vector<ValueId>> nodes_;
  ValueMap<int> counts_;
};

/// Of each node, those that must run before it: its operands, and what control edges say.
ValueMap<std::vector<ValueId>> predecessors(const Graph& graph);

}  // namespace meshwork
