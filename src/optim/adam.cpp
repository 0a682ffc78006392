// m' = m + (g - m)(1 - b1); v' = v + (g^2 - v)(1 - b2);
// w' = w - alpha m' / (sqrt(v') + eps) with alpha = lr sqrt(1 - b2^t) / (1 - b1^t), t from 1;
// amsgrad: the greatest v' so far in place of v'
#include "ops/ops.h"
#include "optim/adam_rule.h"

namespace meshwork {
namespace {

struct Arguments {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
};

ValueId corrected_rate(WeightUpdate& u, const Arguments& args) {
  GraphBuilder& b = u.builder();
  const auto one_minus_power = [&](double beta) {
    const ValueId power = b.add(ops::kPower, {ops::constant(b, beta), u.step()});
    return ops::subtract(b, ops::constant(b, 1.0), power);
  };
  const ValueId root = b.add(ops::kSqrt, {one_minus_power(args.beta_2)});
  const ValueId rest = one_minus_power(args.beta_1);
  return ops::divide(b, ops::multiply(b, u.learning_rate(), root), rest);
}

/// old' = old + (x - old)(1 - beta), kept in the slot `name`.
ValueId moving_average(WeightUpdate& u, const std::string& name, ValueId x, double beta) {
  GraphBuilder& b = u.builder();
  const ValueId old = u.slot(name);
  const ValueId next = ops::add(b, old, ops::scale(b, ops::subtract(b, x, old), 1 - beta));
  u.update_slot(old, next);
  return next;
}

ValueId update(WeightUpdate& u, const Arguments& args) {
  GraphBuilder& b = u.builder();
  const ValueId alpha = corrected_rate(u, args);
  const ValueId m = moving_average(u, "momentum", u.gradient(), args.beta_1);
  const ValueId square = b.add(ops::kSquare, {u.gradient()});
  ValueId v = moving_average(u, "velocity", square, args.beta_2);
  if (args.amsgrad) {
    const ValueId greatest = u.slot("velocity_hat");
    v = b.add(ops::kMaximum, {greatest, v});
    u.update_slot(greatest, v);
  }
  const ValueId denominator = ops::shift(b, b.add(ops::kSqrt, {v}), args.epsilon);
  return ops::subtract(b, u.weight(), ops::divide(b, ops::multiply(b, m, alpha), denominator));
}

}  // namespace

UpdateRule read_adam_rule(config::Reader& args) {
  Arguments a;
  a.beta_1 = args.get("beta_1", a.beta_1, config::kFromZeroBelowOne);
  a.beta_2 = args.get("beta_2", a.beta_2, config::kFromZeroBelowOne);
  a.epsilon = args.get("epsilon", 1e-7, config::at_least(0));
  a.amsgrad = args.get("amsgrad", a.amsgrad);
  return [a](WeightUpdate& u) { return update(u, a); };
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
