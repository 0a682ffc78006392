// m' = m + (g - m)(1 - b1); v' = v + (g^2 - v)(1 - b2);
// w' = w - alpha m' / (sqrt(v') + eps) with alpha = lr sqrt(1 - b2^t) / (1 - b1^t), t from 1;
// amsgrad: the greatest v' so far in place of v'
#include "ops/ops.h"
#include "optim/adam_rule.h"

namespace meshwork {
namespace {

ValueId corrected_rate(WeightUpdate& u, const AdamArguments& args, double rate) {
  GraphBuilder& b = u.builder();
  const ValueId root = ops::sqrt(b, one_minus_power(u, args.beta_2));
  const ValueId rest = one_minus_power(u, args.beta_1);
  ValueId learning_rate = u.learning_rate();
  if (rate != 1) learning_rate = ops::scale(b, learning_rate, rate);
  return ops::divide(b, ops::multiply(b, learning_rate, root), rest);
}

}  // namespace

ValueId update_by_adam(WeightUpdate& u, const AdamArguments& args, double rate) {
  GraphBuilder& b = u.builder();
  const ValueId alpha = corrected_rate(u, args, rate);
  const ValueId m = moving_average(u, u.slot("momentum"), u.gradient(), args.beta_1);
  const ValueId square = ops::square(b, u.gradient());
  ValueId v = moving_average(u, u.slot("velocity"), square, args.beta_2);
  if (args.amsgrad) {
    const ValueId greatest = u.slot("velocity_hat");
    v = ops::maximum(b, greatest, v);
    u.update_slot(greatest, v);
  }
  const ValueId denominator = ops::shift(b, ops::sqrt(b, v), args.epsilon);
  return ops::subtract(b, u.weight(), ops::divide(b, ops::multiply(b, m, alpha), denominator));
}

AdamArguments read_moments(config::Reader& args, const std::string& prefix) {
  AdamArguments a;
  a.beta_1 = args.get(prefix + "beta_1", a.beta_1, config::kFromZeroBelowOne);
  a.beta_2 = args.get(prefix + "beta_2", a.beta_2, config::kFromZeroBelowOne);
  a.epsilon = args.get("epsilon", a.epsilon, config::at_least(0));
  return a;
}

UpdateRule read_adam_rule(config::Reader& args) {
  AdamArguments a = read_moments(args);
  a.amsgrad = args.get("amsgrad", a.amsgrad);
  return {[a](WeightUpdate& u) { return update_by_adam(u, a); }};
}

namespace optimizers {

const OptimizerDef kAdam{.names = {"Adam"},
                         .path = "adam",
                         .learning_rate = 0.001,
                         .weight_decay = {},
                         .read = read_adam_rule,
                         .slots = {{"momentum", "velocity"}, {"velocity_hat"}}};

}  // namespace optimizers
}  // namespace meshwork
