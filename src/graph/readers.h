#pragma once

#include <vector>

#include "graph/graph.h"

namespace meshwork {

/// Of each value, how many nodes (once for each operand), updates and outputs read it.
ValueMap<int> count_readers(const Graph& graph);

/// Of each value, the nodes that read it, in order, once for each operand.
ValueMap<std::vector<ValueId>> reading_nodes(const Graph& graph);

/// Whether nodes alone read a value, no update and no output. `readers` and `nodes`: what the two
/// above say.
bool is_read_by_nodes(const ValueMap<int>& readers, const ValueMap<std::vector<ValueId>>& nodes,
                      ValueId id);

/// The node that alone reads a value, once; kNoValue: there is none, or something else does, too.
ValueId only_reader(const ValueMap<int>& readers, const ValueMap<std::vector<ValueId>>& nodes,
                    ValueId id);

/// Of each node, those that must run before it: its operands, and what control edges say.
ValueMap<std::vector<ValueId>> predecessors(const Graph& graph);

}  // namespace meshwork
