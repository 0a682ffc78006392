// How many predictions, by weight, are above a threshold or not, and their labels 0 or not
#include "model/arguments.h"
#include "model/metrics/metric.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

template <bool kIsPositive, bool kIsTrue>
ValueId count(const Comparison& c, ValueId weights, double threshold) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const ValueId is_zero = ops::equal(b, y, ops::constant(b, 0.0));
  const ValueId says_yes = ops::greater(b, p, ops::constant(b, threshold));
  const bool label_is_zero = kIsPositive != kIsTrue;
  const ValueId both = ops::multiply(b, kIsPositive ? says_yes : ops::one_minus(b, says_yes),
                                     label_is_zero ? is_zero : ops::one_minus(b, is_zero));
  return sum_all(b, ops::multiply(b, both, weights_for(b, b.shape(p), weights, c.at, c.what)));
}

template <bool kIsPositive, bool kIsTrue>
Counting read(config::Reader& args) {
  const double threshold = read_threshold(args);
  return {[threshold](const Comparison& c, ValueId weights) {
            return count<kIsPositive, kIsTrue>(c, weights, threshold);
          },
          [](std::span<const double> counts) { return counts[0]; }};
}

}  // namespace

const MetricDef kTruePositives{.names = {"TruePositives", "true_positives"},
                               .read_counting = read<true, true>};
const MetricDef kTrueNegatives{.names = {"TrueNegatives", "true_negatives"},
                               .read_counting = read<false, true>};
const MetricDef kFalsePositives{.names = {"FalsePositives", "false_positives"},
                                .read_counting = read<true, false>,
                                .greater_is_better = false};
const MetricDef kFalseNegatives{.names = {"FalseNegatives", "false_negatives"},
                                .read_counting = read<false, false>,
                                .greater_is_better = false};

}  // namespace meshwork::metrics
