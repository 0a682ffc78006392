#pragma once

#include "graph/op_def.h"

namespace meshwork::ops {

/// What the attributes of a conversion make of stored numbers: y = x * scale + offset in double,
/// rounded once to `dtype`, float32 or int32 (0 where int32 has no such number); then, of float32,
/// y = (y - mean) / std with the numbers of the place in the last dimension, or the only ones,
/// where the attributes `mean` and `std` are there; of x with more digits than float32 the mean is
/// taken off before rounding. The first dimension counts samples and has none.
DType converted_dtype(const OpArgs& args);

}  // namespace meshwork::ops
