// l = sum over the last dimension of y ln(y / p), with y and p within [epsilon, 1]
#include "model/epsilon.h"
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto matched = match_shapes(c);
  const ValueId y = ops::clip(b, matched.labels, kEpsilon, 1);
  const ValueId p = ops::clip(b, matched.predictions, kEpsilon, 1);
  const ValueId log = ops::log(b, ops::divide(b, y, p));
  const auto axis = static_cast<std::int64_t>(b.shape(y).size()) - 1;
  return {ops::reduce_sum(b, ops::multiply(b, y, log), {axis}, false)};
}

}  // namespace

const LossDef kKlDivergence{
    .names = {"KLDivergence", "kl_divergence", "kld", "KLD", "kullback_leibler_divergence"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .metric = {"KLDivergence"},
};

}  // namespace meshwork::losses
