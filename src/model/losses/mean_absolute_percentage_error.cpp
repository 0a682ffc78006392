// l = 100 times the mean over the last dimension of |y - p| / max(|y|, epsilon)
#include "model/epsilon.h"
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const ValueId size = ops::abs(b, y);
  const ValueId divisor = ops::maximum(b, size, ops::constant(b, kEpsilon));
  const ValueId error = ops::divide(b, ops::subtract(b, y, p), divisor);
  return {ops::scale(b, mean_last(b, ops::abs(b, error)), 100)};
}

}  // namespace

const LossDef kMeanAbsolutePercentageError{
    .names = {"MeanAbsolutePercentageError", "mean_absolute_percentage_error", "mape", "MAPE"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .metric = {"MeanAbsolutePercentageError"},
};

}  // namespace meshwork::losses
