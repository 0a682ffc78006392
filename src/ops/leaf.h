#pragma once

#include "graph/op_def.h"

namespace meshwork::ops {

/// The type that the attributes `dtype` (float32 if there is none) and `shape` state.
TensorType infer_leaf(const OpArgs& args);

/// As infer_leaf, for numbers drawn from a counter-based generator: element i (global, row-major)
/// depends on `key`, the step and i alone. The step is 0, or the optional operand, an int64 scalar.
TensorType infer_random(const OpArgs& args);

}  // namespace meshwork::ops
