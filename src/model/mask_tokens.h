#pragma once

#include "base/token_mask.h"
#include "graph/builder.h"

namespace meshwork {

/// What `mask` makes of a batch of tokens, int32 [batch, steps]. What is chosen depends on its
/// seed, the number of the step and the place in the batch: on nothing that a mesh could change,
/// and it is the same for tokens and labels.
ValueId mask_tokens(GraphBuilder& b, const TokenMask& mask, ValueId tokens);

}  // namespace meshwork
