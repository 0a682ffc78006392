// l = mean over the last dimension of e^2 / 2 where e = |p - y| <= delta, else delta e - delta^2 /
// 2
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c, double delta) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const ValueId error = ops::subtract(b, p, y);
  const ValueId size = ops::abs(b, error);
  const ValueId near = ops::scale(b, ops::square(b, error), 0.5);
  const ValueId far = ops::shift(b, ops::scale(b, size, delta), -0.5 * delta * delta);
  const ValueId is_far = ops::greater(b, size, ops::constant(b, delta));
  return {mean_last(b, ops::select(b, is_far, far, near))};
}

CompareFunction read(config::Reader& args) {
  const double delta = args.get("delta", 1.0, config::more_than(0));
  return [delta](const Comparison& c) { return compare(c, delta); };
}

}  // namespace

const LossDef kHuber{.names = {"Huber", "huber"}, .read = read};

}  // namespace meshwork::losses
