#pragma once

#include "graph/dim_rule.h"
#include "graph/op_def.h"

namespace meshwork::ops {

/// Type of an elementwise op of one operand: that of the operand, of float32 or bfloat16.
TensorType infer_unary(const OpArgs& args);

/// Type of an elementwise op with numpy broadcasting; all operands have the dtype of the first.
TensorType infer_broadcast(const OpArgs& args);

/// As infer_broadcast, but the result is bfloat16 of bfloat16, and float32 of all else.
TensorType infer_comparison(const OpArgs& args);

/// The shape to which all broadcast; throws Error if they do not.
Shape broadcast_shapes(std::span<const TensorType> inputs);

}  // namespace meshwork::ops
