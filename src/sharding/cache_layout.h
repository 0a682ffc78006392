#pragma once

#include "sharding/layout_map.h"

namespace meshwork {

/// The layout of the cache `graph.variables[variable]`, where no rule lays it out: each dimension
/// is sharded like that of the variable or input that the rows written into it have it from, found
/// by the dimension rules of the ops between. So heads lie where the kernels of keys and values
/// have them. The dimension of places is whole. `pinned` has the inputs and the variables before.
Layout layout_of_cache(const Graph& graph, std::size_t variable, const PinnedLayouts& pinned);

}  // namespace meshwork
