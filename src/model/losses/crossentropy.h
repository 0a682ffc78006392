#pragma once

#include "config/value.h"
#include "model/losses/loss.h"

namespace meshwork::losses {

/// x within [epsilon, 1 - epsilon].
ValueId clip_probability(GraphBuilder& b, ValueId x);

/// Labels y of so many classes under smoothing s: y (1 - s) + s / classes.
ValueId smoothed(GraphBuilder& b, ValueId y, double smoothing, double classes);

/// -y ln p - (1 - y) ln(1 - p) of probabilities, which are clipped first.
ValueId binary_terms(GraphBuilder& b, ValueId y, ValueId p);

/// Logarithms of the class probabilities in the last dimension: of a softmax of logits, or of
/// values that are first divided by their sum and clipped.
ValueId log_probabilities(GraphBuilder& b, ValueId x, bool from_logits);

/// -ln p[y] of class numbers y; `ignored` stands for no class, and does not count.
Compared compare_classes(const Comparison& c, bool from_logits,
                         std::optional<std::int64_t> ignored);

/// A loss of the keys `from_logits`, `label_smoothing` and `axis` (LastAxis).
CompareFunction read_smoothed(config::Reader& args,
                              Compared (*compare)(const Comparison& c, bool from_logits,
                                                  double smoothing));

}  // namespace meshwork::losses
