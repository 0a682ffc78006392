// Hinge: mean over the last dimension of max(1 - y p, 0), of labels -1 and 1; SquaredHinge: of its
// square. Labels of which all are 0 or 1 in a batch become 2 y - 1.
// CategoricalHinge: max(1 + (the greatest (1 - y) p) - (the sum of y p), 0)
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

/// Labels -1 and 1.
ValueId signs(GraphBuilder& b, ValueId y) {
  const ValueId is_zero = ops::equal(b, y, ops::constant(b, 0.0));
  const ValueId is_one = ops::equal(b, y, ops::constant(b, 1.0));
  const ValueId neither = ops::one_minus(b, ops::add(b, is_zero, is_one));
  const ValueId others = sum_all(b, neither);
  const ValueId is_binary = ops::equal(b, others, ops::constant(b, 0.0));
  return ops::select(b, is_binary, ops::shift(b, ops::scale(b, y, 2), -1), y);
}

ValueId at_least_zero(GraphBuilder& b, ValueId x) {
  return ops::maximum(b, x, ops::constant(b, 0.0));
}

ValueId margins(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const ValueId agreement = ops::multiply(b, signs(b, y), p);
  return at_least_zero(b, ops::one_minus(b, agreement));
}

Compared compare(const Comparison& c) { return {mean_last(c.b, margins(c))}; }

Compared compare_squares(const Comparison& c) {
  return {mean_last(c.b, ops::square(c.b, margins(c)))};
}

Compared compare_categories(const Comparison& c) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const auto axis = static_cast<std::int64_t>(b.shape(y).size()) - 1;
  const ValueId hit = ops::reduce_sum(b, ops::multiply(b, y, p), {axis}, false);
  const ValueId not_y = ops::one_minus(b, y);
  const ValueId worst = ops::reduce_max(b, ops::multiply(b, not_y, p), {axis}, false);
  return {at_least_zero(b, ops::shift(b, ops::subtract(b, worst, hit), 1.0))};
}

}  // namespace

const LossDef kHinge{
    .names = {"Hinge", "hinge"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .metric = {"Hinge"},
};

const LossDef kSquaredHinge{
    .names = {"SquaredHinge", "squared_hinge"},
    .read = [](config::Reader&) -> CompareFunction { return compare_squares; },
    .metric = {"SquaredHinge"},
};

const LossDef kCategoricalHinge{
    .names = {"CategoricalHinge", "categorical_hinge"},
    .read = [](config::Reader&) -> CompareFunction { return compare_categories; },
    .metric = {"CategoricalHinge"},
};

}  // namespace meshwork::losses
