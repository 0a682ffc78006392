// The best of one rate where another is at least what is asked for, over num_thresholds thresholds
// i / (num_thresholds - 1); 0 where it never is. Sensitivity, which is recall: of the true labels,
// the share above the threshold; specificity: of the others, the share that is not; precision: of
// what is above, the share that is true.
#include <algorithm>

#include "model/metrics/metric.h"
#include "model/metrics/one_class.h"
#include "model/metrics/threshold_counts.h"

namespace meshwork::metrics {
namespace {

/// At a threshold; `all` is what is above the first.
using Rate = double (*)(const Point& at, const Point& all);

double recall(const Point& at, const Point& all) {
  return ratio(at.true_positives, all.true_positives);
}

double specificity(const Point& at, const Point& all) {
  return ratio(all.false_positives - at.false_positives, all.false_positives);
}

double precision(const Point& at, const Point& /*all*/) {
  return ratio(at.true_positives, at.true_positives + at.false_positives);
}

double best(std::span<const double> counts, Rate wanted, Rate bounded, double bound) {
  const std::vector<Point> points = points_of(counts);
  double result = 0;
  for (const Point& point : points) {
    // As Keras compares, in float32.
    if (static_cast<float>(bounded(point, points[0])) < static_cast<float>(bound)) continue;
    result = std::max(result, wanted(point, points[0]));
  }
  return result;
}

Counting read(config::Reader& args, Rate wanted, Rate bounded, const char* key) {
  const double bound = args.require_real(key, config::between(0, 1));
  const Thresholds thresholds{.count = read_count(args)};
  const auto class_id = read_class_id(args);
  return {[=](const Comparison& c, ValueId weights) {
            return count_by_threshold(c, match_class(c, class_id), weights, thresholds);
          },
          [=](std::span<const double> counts) { return best(counts, wanted, bounded, bound); }};
}

}  // namespace

const MetricDef kPrecisionAtRecall{
    .names = {"PrecisionAtRecall", "precision_at_recall"},
    .read_counting = [](config::Reader& args) { return read(args, precision, recall, "recall"); },
};

const MetricDef kRecallAtPrecision{
    .names = {"RecallAtPrecision", "recall_at_precision"},
    .read_counting =
        [](config::Reader& args) { return read(args, recall, precision, "precision"); },
};

const MetricDef kSensitivityAtSpecificity{
    .names = {"SensitivityAtSpecificity", "sensitivity_at_specificity"},
    .read_counting =
        [](config::Reader& args) { return read(args, recall, specificity, "specificity"); },
};

const MetricDef kSpecificityAtSensitivity{
    .names = {"SpecificityAtSensitivity", "specificity_at_sensitivity"},
    .read_counting =
        [](config::Reader& args) { return read(args, specificity, recall, "sensitivity"); },
};

}  // namespace meshwork::metrics
