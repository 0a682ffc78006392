#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace meshwork {

/// x / |x|, the length over the axes; 0 stays 0: lengths of less than `least` count as that.
ValueId to_unit_length(GraphBuilder& b, ValueId x, std::vector<std::int64_t> axes, double least);

}  // namespace meshwork
