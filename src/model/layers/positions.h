#pragma once

#include "model/layers/layer.h"

namespace meshwork::layers {

/// An Error unless samples are [.., steps, features].
void check_steps(const config::Reader& args, const Shape& shape);

/// 0, 1, .. along dimension `dim`, float32, `rank` dimensions, of one element in all others.
ValueId count_along(GraphBuilder& b, std::size_t rank, std::size_t dim, std::int64_t extent);

}  // namespace meshwork::layers
