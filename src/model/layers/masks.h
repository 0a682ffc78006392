#pragma once

#include "model/layers/layer.h"

namespace meshwork::layers {

/// float32: 1 where x is not `value`, else 0.
ValueId differs(GraphBuilder& b, ValueId x, double value);

/// x where the mask, which broadcasts to it from the first dimension on, counts; else `other`.
ValueId choose(GraphBuilder& b, ValueId mask, ValueId x, ValueId other);

/// The same with a number for `other`.
ValueId where(GraphBuilder& b, ValueId mask, ValueId x, double other);

/// A mask with extents of one behind it, as many as bring it to the rank of x.
ValueId spread_mask(GraphBuilder& b, ValueId mask, ValueId x);

}  // namespace meshwork::layers
