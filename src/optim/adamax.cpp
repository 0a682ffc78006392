// m' = m + (g - m)(1 - b1); u' = max(b2 u, |g|); w' = w - lr m' / ((1 - b1^t)(u' + eps)), t from 1
// (Kingma and Ba 2015, section 7)
#include "ops/ops.h"
#include "optim/adam_rule.h"

namespace meshwork::optimizers {
namespace {

ValueId update(WeightUpdate& u, const AdamArguments& args) {
  GraphBuilder& b = u.builder();
  const ValueId m = moving_average(u, u.slot("momentum"), u.gradient(), args.beta_1);
  const ValueId old = u.slot("norm");
  const ValueId kept = ops::scale(b, old, args.beta_2);
  const ValueId norm = ops::maximum(b, kept, ops::abs(b, u.gradient()));
  u.update_slot(old, norm);
  const ValueId rate = ops::divide(b, u.learning_rate(), one_minus_power(u, args.beta_1));
  const ValueId step = ops::divide(b, ops::multiply(b, m, rate), ops::shift(b, norm, args.epsilon));
  return ops::subtract(b, u.weight(), step);
}

UpdateRule read(config::Reader& args) {
  return {[a = read_moments(args)](WeightUpdate& u) { return update(u, a); }};
}

}  // namespace

const OptimizerDef kAdamax{.names = {"Adamax"},
                           .path = "adamax",
                           .learning_rate = 0.001,
                           .weight_decay = {},
                           .read = read,
                           .slots = {{"momentum", "norm"}}};

}  // namespace meshwork::optimizers
