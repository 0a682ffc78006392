#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace meshwork {

/// Of the result of a collective, on the device of the mesh that has most: on all devices the same.
/// What decides when a collective starts, or which ones are joined, goes by it.
inline std::int64_t most_bytes(const Node& node) {
  return num_bytes({node.type.dtype, {node.collective->most_elements}});
}

}  // namespace meshwork
