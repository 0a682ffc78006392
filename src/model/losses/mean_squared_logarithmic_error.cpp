// l = mean over the last dimension of (ln(1 + p) - ln(1 + y))^2, p and y of at least epsilon
#include "model/epsilon.h"
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const auto logarithm = [&](ValueId x) {
    const ValueId raised = ops::maximum(b, x, ops::constant(b, kEpsilon));
    return ops::log(b, ops::shift(b, raised, 1.0));
  };
  const ValueId error = ops::subtract(b, logarithm(p), logarithm(y));
  return {mean_last(b, ops::square(b, error))};
}

}  // namespace

const LossDef kMeanSquaredLogarithmicError{
    .names = {"MeanSquaredLogarithmicError", "mean_squared_logarithmic_error", "msle", "MSLE"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .metric = {"MeanSquaredLogarithmicError"},
};

}  // namespace meshwork::losses
