// Of labels y and predictions p along the last dimension, with means y', p' and variances:
// PearsonCorrelation, mean((y - y') (p - p')) / (std y  std p), and ConcordanceCorrelation (Lin
// 1989), 2 mean((y - y') (p - p')) / (var y + var p + (y' - p')^2).
#include "model/epsilon.h"
#include "model/losses/last_axis.h"
#include "model/metrics/metric.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

/// One for each row.
struct Moments {
  ValueId covariance, label_variance, prediction_variance, mean_difference;
};

Moments moments_of(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const auto last = static_cast<std::int64_t>(b.shape(p).size()) - 1;
  const ValueId y_mean = ops::reduce_mean(b, y, {last}, true);
  const ValueId p_mean = ops::reduce_mean(b, p, {last}, true);
  const ValueId y_from_mean = ops::subtract(b, y, y_mean);
  const ValueId p_from_mean = ops::subtract(b, p, p_mean);
  const auto mean_product = [&](ValueId first, ValueId second) {
    return mean_last(b, ops::multiply(b, first, second));
  };
  return {mean_product(y_from_mean, p_from_mean), mean_product(y_from_mean, y_from_mean),
          mean_product(p_from_mean, p_from_mean), mean_last(b, ops::subtract(b, y_mean, p_mean))};
}

CompareFunction read_pearson(config::Reader& args) {
  return losses::along_last(args, [](const Comparison& c) {
    const Moments m = moments_of(c);
    const ValueId deviations =
        ops::multiply(c.b, ops::sqrt(c.b, m.label_variance), ops::sqrt(c.b, m.prediction_variance));
    return Compared{ops::divide(c.b, m.covariance, deviations)};
  });
}

CompareFunction read_concordance(config::Reader& args) {
  return losses::along_last(args, [](const Comparison& c) {
    const Moments m = moments_of(c);
    const ValueId variances = ops::add(c.b, m.label_variance, m.prediction_variance);
    const ValueId all = ops::add(c.b, variances, ops::square(c.b, m.mean_difference));
    return Compared{
        ops::divide(c.b, ops::scale(c.b, m.covariance, 2), ops::shift(c.b, all, kEpsilon))};
  });
}

}  // namespace

const MetricDef kConcordanceCorrelation{
    .names = {"ConcordanceCorrelation", "concordance_correlation"},
    .read = read_concordance,
};

const MetricDef kPearsonCorrelation{
    .names = {"PearsonCorrelation", "pearson_correlation"},
    .read = read_pearson,
};

}  // namespace meshwork::metrics
