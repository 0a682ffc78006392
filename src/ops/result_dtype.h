#pragma once

#include "graph/op_def.h"

namespace meshwork::ops {

/// The dtype of a sum of many terms, which is added up in float32 in any case: that of operand 0,
/// or the attribute `dtype`, which may ask for the float32 of operands of 16 bits.
DType result_dtype(const OpArgs& args);

}  // namespace meshwork::ops
