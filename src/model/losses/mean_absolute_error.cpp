// l = mean over the last dimension of |p - y|
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c) {
  const auto [y, p] = match_shapes(c);
  return {mean_last(c.b, ops::abs(c.b, ops::subtract(c.b, p, y)))};
}

}  // namespace

const LossDef kMeanAbsoluteError{
    .names = {"MeanAbsoluteError", "mean_absolute_error", "mae", "MAE"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .metric = {"MeanAbsoluteError"},
};

}  // namespace meshwork::losses
