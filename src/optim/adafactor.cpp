// Of a weight of two dimensions or more, r and c are averages of g^2 + eps_1 over its last
// dimension and over the one before it, and v = (r / mean(r)) c, of a row and a column; of other
// weights v is the average of g^2 + eps_1. Averages are a' = b a + (1 - b) x with b = 1 -
// t^beta_2_decay, t from 1. w' = w - max(eps_2, rms(w)) min(lr, 1 / sqrt(t)) u / max(1, rms(u) /
// clip_threshold) with u = g / sqrt(v) (Shazeer and Stern 2018)
#include <numeric>

#include "ops/ops.h"
#include "optim/rule.h"

namespace meshwork::optimizers {
namespace {

struct Arguments {
  double decay = -0.8;
  double epsilon_1 = 1e-30;
  double epsilon_2 = 1e-3;
  double clip_threshold = 1;
};

/// The root of the mean of the squares of all elements.
ValueId rms(GraphBuilder& b, ValueId x) {
  std::vector<std::int64_t> axes(b.shape(x).size());
  std::iota(axes.begin(), axes.end(), 0);
  return ops::sqrt(b, ops::reduce_mean(b, ops::square(b, x), axes, false));
}

/// The greatest learning rate of this update: 1 / sqrt(t).
ValueId relative_rate(WeightUpdate& u) {
  GraphBuilder& b = u.builder();
  return ops::divide(b, ops::constant(b, 1.0), ops::sqrt(b, u.step()));
}

/// The average of x, which the slot takes.
ValueId average(WeightUpdate& u, ValueId slot, ValueId x, const Arguments& args) {
  GraphBuilder& b = u.builder();
  const ValueId power = b.add(ops::kPower, {u.step(), ops::constant(b, args.decay)});
  const ValueId beta = ops::one_minus(b, power);
  const ValueId kept = ops::multiply(b, beta, slot);
  const ValueId next = ops::add(b, kept, ops::multiply(b, ops::one_minus(b, beta), x));
  u.update_slot(slot, next);
  return next;
}

/// g / sqrt(v) of a weight of two dimensions or more. The roots are taken before they are
/// multiplied: where a row and a column have no gradients, v is 0 in float32.
ValueId divide_by_factors(WeightUpdate& u, ValueId square, const Arguments& args) {
  GraphBuilder& b = u.builder();
  const Shape shape = u.shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto average_over = [&](const std::string& name, std::int64_t axis) {
    std::vector<std::int64_t> dims(shape.size());
    std::iota(dims.begin(), dims.end(), 0);
    dims.erase(dims.begin() + axis);
    const ValueId mean = ops::reduce_mean(b, square, {axis}, false);
    return average(u, u.slot_of_dims(name, dims), mean, args);
  };
  const auto spread = [&](ValueId x, std::int64_t axis) {
    Shape kept = shape;
    kept[static_cast<std::size_t>(axis)] = 1;
    return ops::reshape(b, x, kept);
  };
  const ValueId r = average_over("r", rank - 1);
  const ValueId c = spread(average_over("c", rank - 2), rank - 2);
  const ValueId relative = ops::divide(b, r, ops::reduce_mean(b, r, {rank - 2}, true));
  const ValueId row = spread(relative, rank - 1);
  u.update_slot(u.slot("velocity"), ops::multiply(b, row, c));
  const ValueId root_of_row = ops::sqrt(b, row), root_of_column = ops::sqrt(b, c);
  return ops::divide(b, u.gradient(), ops::multiply(b, root_of_row, root_of_column));
}

ValueId direction(WeightUpdate& u, const Arguments& args) {
  GraphBuilder& b = u.builder();
  const ValueId square = ops::shift(b, ops::square(b, u.gradient()), args.epsilon_1);
  if (u.shape().size() >= 2) return divide_by_factors(u, square, args);
  const ValueId v = average(u, u.slot("velocity"), square, args);
  return ops::divide(b, u.gradient(), ops::sqrt(b, v));
}

ValueId update(WeightUpdate& u, const Arguments& args) {
  GraphBuilder& b = u.builder();
  const auto greater = [&](ValueId x, double least) {
    return ops::maximum(b, x, ops::constant(b, least));
  };
  const ValueId step = direction(u, args);
  const ValueId excess = ops::divide(b, rms(b, step), ops::constant(b, args.clip_threshold));
  const ValueId rate = b.add(ops::kMinimum, {u.learning_rate(), relative_rate(u)});
  const ValueId size = ops::multiply(b, greater(rms(b, u.weight()), args.epsilon_2), rate);
  const ValueId clipped = ops::divide(b, step, greater(excess, 1));
  return ops::subtract(b, u.weight(), ops::multiply(b, clipped, size));
}

UpdateRule read(config::Reader& args) {
  Arguments a;
  a.decay = args.get("beta_2_decay", a.decay, {.most = 0});
  a.epsilon_1 = args.get("epsilon_1", a.epsilon_1, config::at_least(0));
  a.epsilon_2 = args.get("epsilon_2", a.epsilon_2, config::at_least(0));
  a.clip_threshold = args.get("clip_threshold", a.clip_threshold, config::more_than(0));
  args.get("relative_step", true);  // Keras takes the least of the rate and 1 / sqrt(t) either way
  return {[a](WeightUpdate& u) { return update(u, a); }};
}

}  // namespace

const OptimizerDef kAdafactor{.names = {"Adafactor"},
                              .path = "adafactor",
                              .learning_rate = 0.001,
                              .weight_decay = {},
                              .read = read,
                              .slots = {{"r", "c", "velocity"}},
                              .placeholders = {"r", "c"}};

}  // namespace meshwork::optimizers
