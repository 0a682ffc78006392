#pragma once

#include "graph/builder.h"

namespace meshwork::activations {

/// exp(x) - 1 without loss of digits near 0; for x <= 0 only.
ValueId expm1_negative(GraphBuilder& b, ValueId x);

/// x where x > bound, else `otherwise`.
ValueId keep_above(GraphBuilder& b, ValueId x, double bound, double otherwise);

/// x where x >= 0, else slope x.
ValueId leaky_relu(GraphBuilder& b, ValueId x, double slope);

}  // namespace meshwork::activations
