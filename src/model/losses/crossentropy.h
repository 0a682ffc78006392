#pragma once

#include "config/value.h"
#include "model/losses/loss.h"

namespace meshwork::losses {

/// Keras's backend epsilon.
constexpr double kEpsilon = 1e-7;

/// x within [epsilon, 1 - epsilon].
ValueId clip_probability(GraphBuilder& b, ValueId x);

/// Logarithms of the class probabilities in the last dimension: of a softmax of logits, or of
/// values that are first divided by their sum and clipped.
ValueId log_probabilities(GraphBuilder& b, ValueId x, bool from_logits);

/// The key `axis`, which must be the last dimension.
void refuse_axis(config::Reader& args);

}  // namespace meshwork::losses
