// With I = sum y p:  Dice       l = 1 - 2 I / (sum y + sum p + epsilon)
//                    Tversky    l = 1 - I / (I + alpha sum y (1 - p) + beta sum (1 - y) p +
//                    epsilon)
#include <numeric>
#include <optional>

#include "model/arguments.h"
#include "model/epsilon.h"
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

using Axis = std::optional<config::Value>;

Axis read_sums(config::Reader& args) {
  const config::Value* const axis = args.find("axis");
  return axis == nullptr ? Axis{} : Axis{*axis};
}

/// The sum of x over `axis`; over all of the batch it is one value, [1].
ValueId sum_over(const Comparison& c, const Axis& axis, ValueId x) {
  const std::size_t rank = c.b.shape(x).size();
  if (!axis) {
    return ops::reshape(c.b, sum_all(c.b, x), {1});
  }
  std::vector<std::int64_t> axes = read_axes(&*axis, 0, rank);
  if (axes.front() == 0) {
    fail_at(axis->at, "{}: axis 0 is the batch; leave axis out to sum over all, or give 1 to {}",
            c.what, rank - 1);
  }
  return ops::reduce_sum(c.b, x, std::move(axes), false);
}

/// 1 - part / (whole + epsilon)
Compared missing(GraphBuilder& b, ValueId part, ValueId whole) {
  return {ops::one_minus(b, ops::divide(b, part, ops::shift(b, whole, kEpsilon)))};
}

CompareFunction read_dice(config::Reader& args) {
  return [axis = read_sums(args)](const Comparison& c) {
    const Matched matched = match_shapes(c);
    const ValueId y = matched.labels, p = matched.predictions;
    const ValueId both = sum_over(c, axis, ops::multiply(c.b, y, p));
    const ValueId all = ops::add(c.b, sum_over(c, axis, y), sum_over(c, axis, p));
    return missing(c.b, ops::scale(c.b, both, 2), all);
  };
}

CompareFunction read_tversky(config::Reader& args) {
  const double alpha = args.get("alpha", 0.5), beta = args.get("beta", 0.5);
  return [=, axis = read_sums(args)](const Comparison& c) {
    GraphBuilder& b = c.b;
    const Matched matched = match_shapes(c);
    const ValueId y = matched.labels, p = matched.predictions;
    const ValueId both = sum_over(c, axis, ops::multiply(b, y, p));
    const ValueId missed = sum_over(c, axis, ops::multiply(b, y, ops::one_minus(b, p)));
    const ValueId wrong = sum_over(c, axis, ops::multiply(b, ops::one_minus(b, y), p));
    const ValueId weighed = ops::add(b, ops::scale(b, missed, alpha), ops::scale(b, wrong, beta));
    return missing(b, both, ops::add(b, both, weighed));
  };
}

}  // namespace

const LossDef kDice{.names = {"Dice", "dice"}, .read = read_dice};
const LossDef kTversky{.names = {"Tversky", "tversky"}, .read = read_tversky};

}  // namespace meshwork::losses
