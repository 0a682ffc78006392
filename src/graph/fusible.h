#pragma once

#include "graph/graph.h"

namespace meshwork {

/// Whether a node may be computed with others in one pass over their elements: it is elementwise of
/// float32, or casts between this and bfloat16.
bool is_fusible(const Graph& program, ValueId id);

}  // namespace meshwork
