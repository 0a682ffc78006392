// l = mean over the last dimension of ln cosh e = e + softplus(-2 e) - ln 2 where e = p - y
#include <numbers>

#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const ValueId error = ops::subtract(b, p, y);
  const ValueId rest = b.add(ops::kSoftplus, {ops::scale(b, error, -2)});
  return {mean_last(b, ops::shift(b, ops::add(b, error, rest), -std::numbers::ln2))};
}

}  // namespace

const LossDef kLogCosh{
    .names = {"LogCosh", "log_cosh", "logcosh"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .metric = {"LogCoshError"},
};

}  // namespace meshwork::losses
