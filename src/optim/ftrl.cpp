// a' = a + g^2; z' = z + g + 2 s w - (a'^p - a^p) w / lr with p = -learning_rate_power and s the
// shrinkage; w' = (clip(z', -l1, l1) - z') / ((beta + a'^p) / lr + 2 l2) (McMahan et al. 2013)
#include "ops/ops.h"
#include "optim/rule.h"

namespace meshwork::optimizers {
namespace {

struct Arguments {
  double power = 0.5;
  double initial = 0.1;
  double l1 = 0.0;
  double l2 = 0.0;
  double shrinkage = 0.0;
  double beta = 0.0;
};

ValueId power_of(GraphBuilder& b, ValueId x, double power) {
  if (power == 0.5) return ops::sqrt(b, x);
  return ops::power(b, x, ops::constant(b, power));
}

ValueId update(WeightUpdate& u, const Arguments& args) {
  GraphBuilder& b = u.builder();
  const ValueId rate = u.learning_rate();
  const ValueId old_sum = u.slot("accumulator", args.initial);
  const ValueId sum = ops::add(b, old_sum, ops::square(b, u.gradient()));
  u.update_slot(old_sum, sum);
  const ValueId root = power_of(b, sum, args.power);

  ValueId gradient = u.gradient();
  if (args.shrinkage > 0) {
    gradient = ops::add(b, gradient, ops::scale(b, u.weight(), 2 * args.shrinkage));
  }
  const ValueId growth = ops::subtract(b, root, power_of(b, old_sum, args.power));
  const ValueId pull = ops::multiply(b, ops::divide(b, growth, rate), u.weight());
  const ValueId old = u.slot("linear");
  const ValueId linear = ops::add(b, old, ops::subtract(b, gradient, pull));
  u.update_slot(old, linear);

  const ValueId quadratic = ops::divide(b, ops::shift(b, root, args.beta), rate);
  const ValueId beyond = ops::subtract(b, ops::clip(b, linear, -args.l1, args.l1), linear);
  return ops::divide(b, beyond, ops::shift(b, quadratic, 2 * args.l2));
}

UpdateRule read(config::Reader& args) {
  Arguments a;
  a.power = -args.get("learning_rate_power", -a.power, config::Range{.most = 0});
  a.initial = args.get("initial_accumulator_value", a.initial, config::at_least(0));
  a.l1 = args.get("l1_regularization_strength", a.l1, config::at_least(0));
  a.l2 = args.get("l2_regularization_strength", a.l2, config::at_least(0));
  a.shrinkage = args.get("l2_shrinkage_regularization_strength", a.shrinkage, config::at_least(0));
  a.beta = args.get("beta", a.beta, config::at_least(0));
  return {[a](WeightUpdate& u) { return update(u, a); }};
}

}  // namespace

const OptimizerDef kFtrl{.names = {"Ftrl"},
                         .path = "ftrl",
                         .learning_rate = 0.001,
                         .weight_decay = {},
                         .read = read,
                         .slots = {{"accumulator", "linear"}}};

}  // namespace meshwork::optimizers
