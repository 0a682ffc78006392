#pragma once

#include <vector>

#include "config/config.h"
#include "graph/graph.h"
#include "sharding/layout_map.h"

namespace meshwork {

/// Throws the Error of `max_replicated` where weights that every device of several holds whole are
/// more of all weights' bytes than that; it names the largest. `variables`: of graph.variables.
void check_replication(const Graph& graph, const std::vector<LayoutMatch>& variables,
                       const config::Config& config, const Mesh& mesh);

}  // namespace meshwork
