// m' = m + (g - m)(1 - b1); v' = v + (g^2 - v)(1 - b2); c(t) = b1 (1 - 0.96^t / 2), t from 1;
// p' = p c(t), p = 1 before the first step;
// w' = w - lr i / (sqrt(v' / (1 - b2^t)) + eps) with
// i = c(t + 1) m' / (1 - p' c(t + 1)) + (1 - c(t)) g / (1 - p') (Dozat 2016)
#include "ops/ops.h"
#include "optim/adam_rule.h"

namespace meshwork::optimizers {
namespace {

constexpr const char* kProduct = "u_product";

/// c(t) where `offset` is 0.
ValueId momentum_at(WeightUpdate& u, double beta_1, double offset) {
  GraphBuilder& b = u.builder();
  const ValueId step = ops::shift(b, u.step(), offset);
  const ValueId power = ops::power(b, ops::constant(b, 0.96), step);
  return ops::scale(b, ops::one_minus(b, ops::scale(b, power, 0.5)), beta_1);
}

ValueId update(WeightUpdate& u, const AdamArguments& args) {
  GraphBuilder& b = u.builder();
  const ValueId now = momentum_at(u, args.beta_1, 0);
  const ValueId next = momentum_at(u, args.beta_1, 1);
  const ValueId old_product = u.scalar(kProduct, 1.0);
  const ValueId product = ops::multiply(b, old_product, now);
  u.update_scalar(old_product, product);

  const ValueId m = moving_average(u, u.slot("momentum"), u.gradient(), args.beta_1);
  const ValueId square = ops::square(b, u.gradient());
  const ValueId v = moving_average(u, u.slot("velocity"), square, args.beta_2);
  const ValueId of_m = ops::divide(b, next, ops::one_minus(b, ops::multiply(b, product, next)));
  const ValueId of_gradient = ops::divide(b, ops::one_minus(b, now), ops::one_minus(b, product));
  const ValueId mean =
      ops::add(b, ops::multiply(b, m, of_m), ops::multiply(b, u.gradient(), of_gradient));
  const ValueId root = ops::sqrt(b, ops::divide(b, v, one_minus_power(u, args.beta_2)));
  const ValueId step =
      ops::divide(b, ops::multiply(b, mean, u.learning_rate()), ops::shift(b, root, args.epsilon));
  return ops::subtract(b, u.weight(), step);
}

UpdateRule read(config::Reader& args) {
  return {[a = read_moments(args)](WeightUpdate& u) { return update(u, a); }};
}

}  // namespace

const OptimizerDef kNadam{.names = {"Nadam"},
                          .path = "nadam",
                          .learning_rate = 0.001,
                          .weight_decay = {},
                          .read = read,
                          .slots = {{"momentum", "velocity"}},
                          .scalars = {kProduct}};

}  // namespace meshwork::optimizers
