#pragma once

#include <string>

#include "graph/op_def.h"

namespace meshwork::ops {

/// "a [b] -> a [b]" for axis 1 of rank 2: all but `axis` may be sharded.
std::string softmax_rule(const OpArgs& args);

}  // namespace meshwork::ops
