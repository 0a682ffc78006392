#pragma once

#include <span>
#include <vector>

#include "model/metrics/metric.h"

namespace meshwork::metrics {

/// Counts predictions within [0, 1], true ones and others, between the thresholds i / (thresholds -
/// 1): [thresholds, 2] weights of true and of other labels, of which those above threshold i are
/// from place i on. `by_label`: of [batch, labels] for each label by itself, [labels * thresholds,
/// 2].
ValueId count_by_threshold(const Comparison& c, Matched matched, ValueId weights,
                           std::int64_t thresholds, bool by_label = false);

/// Of what is above a threshold.
struct Point {
  double true_positives = 0, false_positives = 0;
};

/// A point for each threshold, of the counts of a label. Every prediction is above the first.
std::vector<Point> points_of(std::span<const double> counts);

/// 0 where nothing is divided by.
double ratio(double a, double b);

}  // namespace meshwork::metrics
