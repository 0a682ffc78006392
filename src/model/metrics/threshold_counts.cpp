#include "model/metrics/threshold_counts.h"

#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork::metrics {

ValueId count_by_threshold(const Comparison& c, Matched matched, ValueId weights,
                           std::int64_t thresholds, bool by_label) {
  GraphBuilder& b = c.b;
  const Shape shape = b.shape(matched.predictions);
  const ValueId p = ops::clip(b, matched.predictions, 0, 1);
  // max(ceil(p (n - 1)) - 1, 0)
  const auto steps = static_cast<double>(thresholds - 1);
  const ValueId below = ops::floor(b, ops::scale(b, p, -steps));
  const ValueId zero = ops::constant(b, 0.0);
  ValueId place = ops::maximum(b, ops::shift(b, ops::scale(b, below, -1), -1), zero);
  if (by_label) {
    const ValueId label =
        b.add(ops::kIota, {}, {{"dim", std::int64_t{1}}, {"dtype", "float32"}, {"shape", shape}});
    place = ops::add(b, place, ops::scale(b, label, static_cast<double>(thresholds)));
  }
  const ValueId is_false = ops::equal(b, matched.labels, zero);
  const ValueId is_true = ops::one_minus(b, is_false);
  const ValueId weight = weights_for(b, shape, weights, c.at, c.what);
  const Shape flat{num_elements(shape)}, column{num_elements(shape), 1};
  const auto weighted = [&](ValueId x) {
    return ops::reshape(b, ops::multiply(b, x, weight), column);
  };
  const ValueId both = b.add(ops::kConcatenate, {weighted(is_true), weighted(is_false)},
                             {{"axis", std::int64_t{1}}});
  const ValueId places = ops::cast(b, ops::reshape(b, place, flat), DType::kInt32);
  const std::int64_t rows = thresholds * (by_label ? shape[1] : 1);
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
