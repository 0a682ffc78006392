#pragma once

#include <vector>

#include "graph/graph.h"

namespace meshwork {

/// Of each value, how many nodes (once for each operand), updates and outputs read it.
std::vector<int> count_readers(const Graph& graph);

/// Of each value, the nodes that read it, in order, once for each operand.
std::vector<std::vector<ValueId>> reading_nodes(const Graph& graph);

}  // namespace meshwork
