#pragma once

#include <span>
#include <vector>

#include "model/metrics/metric.h"

namespace meshwork::metrics {

/// From 0 to 1, `count` of them.
struct Thresholds {
  std::int64_t count = 200;
  std::vector<double> between = {};  ///< in order; empty: they are i / (count - 1)
};

/// The key `num_thresholds`.
std::int64_t read_count(config::Reader& args);

/// The key `thresholds`, a list of those between 0 and 1, or `num_thresholds`.
Thresholds read_thresholds(config::Reader& args);

/// Counts predictions within [0, 1], true ones and others, between thresholds: [thresholds, 2]
/// weights of true and of other labels, of which those above threshold i are from place i on.
/// `by_label`: of [batch, labels] for each label by itself, [labels * thresholds, 2].
ValueId count_by_threshold(const Comparison& c, Matched matched, ValueId weights,
                           const Thresholds& thresholds, bool by_label = false);

/// Of what is above a threshold.
struct Point {
  double true_positives = 0, false_positives = 0;
};

/// A point for each threshold, of the counts of a label. Every prediction is above the first.
std::vector<Point> points_of(std::span<const double> counts);

/// 0 where nothing is divided by.
double ratio(double a, double b);

}  // namespace meshwork::metrics
