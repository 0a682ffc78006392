#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/builder.h"

namespace meshwork {

/// 0, 1, .. along dimension `dim`, float32, `rank` dimensions, of one element in all others.
ValueId count_along(GraphBuilder& b, std::size_t rank, std::size_t dim, std::int64_t extent);

}  // namespace meshwork
