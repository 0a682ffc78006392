#pragma once

#include "model/losses/loss.h"

namespace meshwork::losses {

/// The cosine of the angle between labels and predictions along the last dimension.
ValueId cosine_similarity(const Comparison& c);

}  // namespace meshwork::losses
