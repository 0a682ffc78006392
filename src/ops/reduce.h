#pragma once

#include <string>

#include "graph/op_def.h"

namespace meshwork::ops {

/// Type of a reduction over `axes`, with extents of one kept if `keepdims`.
TensorType infer_reduce(const OpArgs& args);

/// "a b c -> a c" for axes [1]; "a b c -> a 1 c" with keepdims.
std::string reduce_rule(const OpArgs& args);

/// One operation per element of the operand.
double reduce_flops(const OpArgs& args);

/// The shape of the result had the dimensions been kept.
Shape kept_shape(const Shape& shape, const Attrs& attrs);

}  // namespace meshwork::ops
