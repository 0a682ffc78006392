// 1 where the label is [p > threshold]
#include "model/metrics/metric.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

CompareFunction read(config::Reader& args) {
  const double threshold = args.get("threshold", 0.5, config::between(0, 1));
  return [threshold](const Comparison& c) {
    const auto [y, p] = match_shapes(c);
    const ValueId says_yes = ops::greater(c.b, p, ops::constant(c.b, threshold));
    return Compared{ops::equal(c.b, y, says_yes)};
  };
}

}  // namespace

const MetricDef kBinaryAccuracy{
    .names = {"BinaryAccuracy", "binary_accuracy"},
    .read = read,
};

}  // namespace meshwork::metrics
