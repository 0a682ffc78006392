#pragma once

#include <string>

#include "graph/op_def.h"

namespace meshwork::ops {

/// Extent of operand 0 along the attribute `axis`.
std::int64_t channel_extent(const OpArgs& args);

/// "a b ch" for axis 2 of rank 3: the dimensions of operand 0.
std::string channel_names(const OpArgs& args);

/// x[index] of x [rows, channels].
ValueId row(GraphBuilder& b, ValueId x, std::int64_t index);

}  // namespace meshwork::ops
