// m and v as Adam's; i = (m' / (1 - b1^t)) / (sqrt(v' / (1 - b2^t)) + eps);
// w' = w - lr r i with r = |w| / |i|, or 1 where either is 0 (You et al. 2020)
#include "ops/ops.h"
#include "optim/adam_rule.h"

namespace meshwork::optimizers {
namespace {

ValueId trust_ratio(GraphBuilder& b, ValueId weight, ValueId step) {
  const ValueId zero = ops::constant(b, 0.0);
  const ValueId one = ops::constant(b, 1.0);
  const ValueId of_weight = norm(b, weight);
  const ValueId of_step = norm(b, step);
  const ValueId has_step = ops::greater(b, of_step, zero);
  const ValueId has_weight = ops::greater(b, of_weight, zero);
  const ValueId divisor = ops::select(b, has_step, of_step, one);
  const ValueId dividend = ops::select(b, has_step, of_weight, one);
  return ops::select(b, has_weight, ops::divide(b, dividend, divisor), one);
}

ValueId update(WeightUpdate& u, const AdamArguments& args) {
  GraphBuilder& b = u.builder();
  const ValueId m = moving_average(u, u.slot("momentum"), u.gradient(), args.beta_1);
  const ValueId square = ops::square(b, u.gradient());
  const ValueId v = moving_average(u, u.slot("velocity"), square, args.beta_2);
  const ValueId root = ops::sqrt(b, ops::divide(b, v, one_minus_power(u, args.beta_2)));
  const ValueId mean = ops::divide(b, m, one_minus_power(u, args.beta_1));
  const ValueId step = ops::divide(b, mean, ops::shift(b, root, args.epsilon));
  const ValueId rate = ops::multiply(b, trust_ratio(b, u.weight(), step), u.learning_rate());
  return ops::subtract(b, u.weight(), ops::multiply(b, step, rate));
}

UpdateRule read(config::Reader& args) {
  return {[a = read_moments(args)](WeightUpdate& u) { return update(u, a); }};
}

}  // namespace

const OptimizerDef kLamb{.names = {"Lamb"},
                         .path = "lamb",
                         .learning_rate = 0.001,
                         .weight_decay = {},
                         .read = read,
                         .slots = {{"momentum", "velocity"}}};

}  // namespace meshwork::optimizers
