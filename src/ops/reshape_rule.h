#pragma once

#include <string>

#include "graph/op_def.h"

namespace meshwork::ops {

/// Rule of a reshape from the common refinement of both shapes: [4, 2, 3] -> [4, 6] is
/// "a b c -> a (b c)", [2, 6] -> [4, 3] is "a (b c) -> (a b) c". Extents of one are `1`. Dimensions
/// without a common refinement are whole: [5, 2, 3] -> [5, 3, 2] is "a [b] [c] -> a [d] [e]".
std::string reshape_rule(const OpArgs& args);

}  // namespace meshwork::ops
