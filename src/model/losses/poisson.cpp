// l = mean over the last dimension of p - y ln(p + epsilon)
#include "model/epsilon.h"
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const ValueId log = ops::log(b, ops::shift(b, p, kEpsilon));
  return {mean_last(b, ops::subtract(b, p, ops::multiply(b, y, log)))};
}

}  // namespace

const LossDef kPoisson{
    .names = {"Poisson", "poisson"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .metric = {"Poisson"},
};

}  // namespace meshwork::losses
