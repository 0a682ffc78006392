#pragma once

#include <cstddef>
#include <string>

#include "graph/dim_rule.h"

namespace meshwork::ops {

/// "a [b] c" for axis 1 of rank 3: `axis` is whole and has the name of factor `index`.
std::string whole_axis(std::size_t rank, std::size_t axis, std::size_t index);

/// Rule of an op that keeps every dimension of its one operand but `axis`, which is whole on both
/// sides and may change its extent: "a [b] -> a [c]".
std::string resized_axis_rule(const OpArgs& args);

/// Rule of an op without dimensions to follow: "-> a b". It may be sharded where a layout is given.
std::string leaf_rule(const OpArgs& args);

/// Rule of an op of which nothing may be sharded: "[a] [b] -> [c]".
std::string whole_rule(const OpArgs& args);

/// For ops that only move or write elements.
double no_flops(const OpArgs& args);

}  // namespace meshwork::ops
