#pragma once

#include "graph/op_def.h"

namespace meshwork {

/// Floating-point operations of a node, as its op counts them: OpDef::flops.
inline double flops_of(const Graph& graph, const Node& node) {
  if (node.op->flops == nullptr) return static_cast<double>(num_elements(node.type.shape));
  const auto types = input_types(graph, node);
  return node.op->flops({.inputs = types, .attrs = node.attrs, .output = node.type});
}

}  // namespace meshwork
