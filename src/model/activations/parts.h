#pragma once

#include "graph/builder.h"

namespace meshwork::activations {

/// exp(x) - 1 without loss of digits near 0; for x <= 0 only.
ValueId expm1_negative(GraphBuilder& b, ValueId x);

/// x where x > bound, else `otherwise`.
ValueId keep_above(GraphBuilder& b, ValueId x, double bound, double otherwise);

}  // namespace meshwork::activations
