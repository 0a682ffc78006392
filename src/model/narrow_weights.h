#pragma once

#include "graph/graph.h"

namespace meshwork {

/// Keeps weights that are read only as bfloat16, or only as float16, as such, in a program that
/// does not change them: half the memory, and nothing is cast at every step. The results are the
/// same.
void keep_narrow_weights(Graph& graph);

}  // namespace meshwork
