#pragma once

#include "graph/dim_rule.h"
#include "graph/op_def.h"

namespace meshwork::ops {

/// Type of an op of one operand: that of the operand, of float32 or a float of 16 bits.
TensorType infer_unary(const OpArgs& args);

/// The shape to which all broadcast; throws Error if they do not.
Shape broadcast_shapes(std::span<const TensorType> inputs);

}  // namespace meshwork::ops
