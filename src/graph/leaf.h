#pragma once

#include "graph/op_def.h"

namespace meshwork {

/// Whether a value is there before the program runs: an input or a variable.
inline bool is_leaf(const Node& node) {
  return node.op->name == "input" || node.op->name == "variable";
}

}  // namespace meshwork
