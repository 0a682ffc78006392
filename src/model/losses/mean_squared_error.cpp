// l = mean over the last dimension of (p - y)^2
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c) {
  const auto [y, p] = match_shapes(c);
  return {mean_last(c.b, ops::square(c.b, ops::subtract(c.b, p, y)))};
}

}  // namespace

const LossDef kMeanSquaredError{
    .names = {"MeanSquaredError", "mean_squared_error", "mse", "MSE"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .metric = {"MeanSquaredError"},
};

}  // namespace meshwork::losses
