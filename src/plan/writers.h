#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace meshwork {

/// The value that is computed where the new value of a variable is to stand: behind views the new
/// value itself or, where that is gathered, the block of this device.
ValueId written_for(const Graph& program, const Update& update);

/// Bytes into the result of an all-gather at which the block of this device stands.
std::int64_t block_begin(const Graph& program, ValueId all_gather);

}  // namespace meshwork
