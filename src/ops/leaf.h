#pragma once

#include <string_view>

#include "graph/op_def.h"

namespace meshwork::ops {

/// Beside the attributes of an op that gives the initial value of a vector: [begin, end), the
/// elements that begin at 1 instead.
constexpr std::string_view kPartOfOnes = "part_of_ones";

/// The type that the attributes `dtype` (float32 if there is none) and `shape` state.
TensorType infer_leaf(const OpArgs& args);

/// As infer_leaf, for numbers drawn from a counter-based generator: element i (global, row-major)
/// depends on `key`, the step and i alone. The step is 0, or the optional operand, an int64 scalar.
TensorType infer_random(const OpArgs& args);

}  // namespace meshwork::ops
