#pragma once

#include "sharding/propagate.h"

namespace meshwork {

/// What the backward pass or an update computes element by element, and is read in nothing but one
/// sharding that can be cut out of it, is computed in this sharding if no operand takes more bytes
/// then: the decay of a weight of which every device updates a part (ZeRO). Pinned layouts stay.
/// The bits are the same.
void compute_wanted_parts(LaidOut& program, const Mesh& mesh);

}  // namespace meshwork
