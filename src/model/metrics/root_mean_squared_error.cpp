// sqrt of the mean of (y - p)^2
#include "model/metrics/metric.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

Compared compare(const Comparison& c) {
  const auto [y, p] = match_shapes(c);
  return {c.b.add(ops::kSquare, {ops::subtract(c.b, p, y)})};
}

}  // namespace

const MetricDef kRootMeanSquaredError{
    .names = {"RootMeanSquaredError", "root_mean_squared_error"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .greater_is_better = false,
    .result = MetricResult::kRootOfMean,
};

}  // namespace meshwork::metrics
