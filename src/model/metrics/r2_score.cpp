// 1 - (sum of (y - p)^2) / (sum of (y - mean y)^2) of each output, their mean, or weighted by the
// latter; 0 where that is 0
#include <cmath>

#include "model/arguments.h"
#include "model/metrics/metric.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

/// [4, outputs]: sums of weights, of y, of y^2, of (y - p)^2, each times the weight.
ValueId count(const Comparison& c, ValueId weights) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_rows(c, "it is for predictions [outputs]");
  const Shape shape = b.shape(p);
  const ValueId weight = weights_for(b, shape, weights, c.at, c.what);
  const auto total = [&](ValueId x) { return ops::reduce_sum(b, x, {0}, true); };
  const ValueId weighted = ops::multiply(b, y, weight);
  const ValueId error = ops::square(b, ops::subtract(b, y, p));
  return b.add(ops::kConcatenate,
               {total(weight), total(weighted), total(ops::multiply(b, y, weighted)),
                total(ops::multiply(b, error, weight))},
               {{"axis", std::int64_t{0}}});
}

double result(std::span<const double> counts, bool weighs) {
  const std::size_t outputs = counts.size() / 4;
  double scores = 0, weighted = 0, all = 0;
  for (std::size_t i = 0; i < outputs; ++i) {
    const double sum = counts[outputs + i];
    const double spread = counts[2 * outputs + i] - sum * sum / counts[i];
    const double score = 1 - counts[3 * outputs + i] / spread;
    scores += std::isinf(score) ? 0 : score;
    weighted += std::isinf(score) ? 0 : spread * score;
    all += spread;
  }
  return weighs ? weighted / all : scores / static_cast<double>(outputs);
}

Counting read(config::Reader& args) {
  const std::int64_t regressors = args.get("num_regressors", 0);
  if (regressors != 0) refuse_arguments(args, {"num_regressors"});
  const bool weighs =
      args.choose<bool>("class_aggregation", false,
                        {{"uniform_average", false}, {"variance_weighted_average", true}});
  return {count, [weighs](std::span<const double> counts) { return result(counts, weighs); }};
}

}  // namespace

const MetricDef kR2Score{.names = {"R2Score", "r2_score"}, .read_counting = read};

}  // namespace meshwork::metrics
