#include "model/metrics/threshold_counts.h"

#include <algorithm>
#include <cmath>

#include "model/count_along.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

/// Each is compared with all predictions.
constexpr std::size_t kMostBetween = 1000;

/// Whether Keras takes 0, these and 1 for i / (count - 1).
bool are_even(const std::vector<double>& between) {
  const auto steps = static_cast<double>(between.size() + 1);
  for (std::size_t i = 0; i < between.size(); ++i) {
    const double even = static_cast<double>(i + 1) / steps;
    if (std::fabs(between[i] - even) > 1e-7 + 1e-5 * even) return false;
  }
  return true;
}

/// The last threshold that a prediction within [0, 1] is above; 0 for one that is above none.
ValueId last_below(GraphBuilder& b, ValueId p, const Thresholds& thresholds) {
  const ValueId zero = ops::constant(b, 0.0);
  if (thresholds.between.empty()) {
    // max(ceil(p (n - 1)) - 1, 0)
    const auto steps = static_cast<double>(thresholds.count - 1);
    const ValueId below = ops::floor(b, ops::scale(b, p, -steps));
    return ops::maximum(b, ops::shift(b, ops::scale(b, below, -1), -1), zero);
  }
  ValueId place = kNoValue;
  for (const double threshold : thresholds.between) {
    const ValueId is_above = ops::greater(b, p, ops::constant(b, threshold));
    place = place == kNoValue ? is_above : ops::add(b, place, is_above);
  }
  return place;
}

}  // namespace

std::int64_t read_count(config::Reader& args) {
  return args.get("num_thresholds", std::int64_t{200}, config::between(2, 100'000));
}

Thresholds read_thresholds(config::Reader& args) {
  Thresholds thresholds{.count = read_count(args)};
  const config::Value* const given = args.find("thresholds");
  if (given == nullptr) return thresholds;
  if (!given->is_list() || given->list.size() > kMostBetween) {
    fail_at(given->at, "{}: thresholds must be a list of up to {} numbers between 0 and 1",
            args.what(), kMostBetween);
  }
  for (const config::Value& value : given->list) {
    const double threshold = value.as_real("thresholds");
    if (!(threshold >= 0 && threshold <= 1)) {
      fail_at(value.at, "{}: a threshold is {}, not between 0 and 1", args.what(), threshold);
    }
    thresholds.between.push_back(threshold);
  }
  std::ranges::sort(thresholds.between);
  thresholds.count = std::ssize(thresholds.between) + 2;
  if (are_even(thresholds.between)) thresholds.between.clear();
  return thresholds;
}

ValueId count_by_threshold(const Comparison& c, Matched matched, ValueId weights,
                           const Thresholds& thresholds, bool by_label) {
  GraphBuilder& b = c.b;
  const Shape shape = b.shape(matched.predictions);
  const ValueId p = ops::clip(b, matched.predictions, 0, 1);
  ValueId place = last_below(b, p, thresholds);
  if (by_label) {
    const ValueId label = count_along(b, 2, 1, shape[1]);
    place = ops::add(b, place, ops::scale(b, label, static_cast<double>(thresholds.count)));
  }
  const ValueId is_false = ops::equal(b, matched.labels, ops::constant(b, 0.0));
  const ValueId is_true = ops::one_minus(b, is_false);
  const ValueId weight = weights_for(b, shape, weights, c.at, c.what);
  const Shape flat{num_elements(shape)}, column{num_elements(shape), 1};
  const auto weighted = [&](ValueId x) {
    return ops::reshape(b, ops::multiply(b, x, weight), column);
  };
  const ValueId both = b.add(ops::kConcatenate, {weighted(is_true), weighted(is_false)},
                             {{"axis", std::int64_t{1}}});
  const ValueId places = ops::cast(b, ops::reshape(b, place, flat), DType::kInt32);
  const std::int64_t rows = thresholds.count * (by_label ? shape[1] : 1);
  return b.add(ops::kEmbeddingGradient, {both, places}, {{"rows", rows}});
}

std::vector<Point> points_of(std::span<const double> counts) {
  std::vector<Point> points(counts.size() / 2);
  Point sum;
  for (std::size_t i = points.size(); i-- > 0;) {
    sum.true_positives += counts[2 * i];
    sum.false_positives += counts[2 * i + 1];
    points[i] = sum;
  }
  return points;
}

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

}  // namespace meshwork::metrics
