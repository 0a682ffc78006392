#pragma once

#include "sharding/propagate.h"

namespace meshwork {

/// What the backward pass or an update computes element by element, or an op of which any part may
/// be computed, and is read in nothing but one sharding that can be cut out of it, is computed in
/// this sharding if no operand takes more bytes then: the decay of a weight of which every device
/// updates a part (ZeRO), the rows that go to experts. Pinned layouts stay. The bits are the same.
void compute_wanted_parts(LaidOut& program, const Mesh& mesh);

}  // namespace meshwork
