// Schedule-free AdamW (Defazio et al. 2024), with z where steps are taken, x their mean, and the
// weight y = (1 - b1) z + b1 x between them; t from 1:
// v' = v + (g^2 - v)(1 - b2); z' = z - lr min(t / warmup, 1) g / (sqrt(v' / (1 - b2^t)) + eps);
// x = (y - (1 - b1) z) / b1; x' = (1 - 1/t) x + z' / t; y' = (1 - b1) z' + b1 x'
#include "ops/ops.h"
#include "optim/rule.h"

namespace meshwork::optimizers {
namespace {

struct Arguments {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-8;
  double warmup_steps = 0;
};

/// Where training begins, whatever its weights come from, z is the weight before it decays.
ValueId old_place(WeightUpdate& u, ValueId slot) {
  GraphBuilder& b = u.builder();
  return ops::select(b, ops::equal(b, u.step(), ops::constant(b, 1)), u.variable(), slot);
}

ValueId warmed_rate(WeightUpdate& u, double warmup_steps) {
  if (warmup_steps == 0) return u.learning_rate();
  GraphBuilder& b = u.builder();
  const ValueId part = ops::scale(b, u.step(), 1 / warmup_steps);
  return ops::multiply(b, u.learning_rate(), ops::minimum(b, part, ops::constant(b, 1)));
}

/// (1 - share) x + share y
ValueId between(GraphBuilder& b, ValueId x, ValueId y, ValueId share) {
  return ops::add(b, ops::multiply(b, x, ops::one_minus(b, share)), ops::multiply(b, y, share));
}

ValueId update(WeightUpdate& u, const Arguments& a) {
  GraphBuilder& b = u.builder();
  const ValueId slot = u.slot("momentum");
  const ValueId old = old_place(u, slot);
  const ValueId square = ops::square(b, u.gradient());
  const ValueId v = moving_average(u, u.slot("velocity"), square, a.beta_2);
  const ValueId root = ops::sqrt(b, ops::divide(b, v, one_minus_power(u, a.beta_2)));
  const ValueId step =
      ops::divide(b, ops::multiply(b, u.gradient(), warmed_rate(u, a.warmup_steps)),
                  ops::shift(b, root, a.epsilon));
  const ValueId z = ops::subtract(b, old, step);
  u.update_slot(slot, z);
  const ValueId rest = ops::subtract(b, u.weight(), ops::scale(b, old, 1 - a.beta_1));
  const ValueId mean = ops::scale(b, rest, 1 / a.beta_1);
  const ValueId share = ops::divide(b, ops::constant(b, 1), u.step());
  return between(b, z, between(b, mean, z, share), ops::constant(b, a.beta_1));
}

UpdateRule read(config::Reader& args) {
  Arguments a;
  constexpr config::Range kBelowOne{
      .least = 0, .most = 1, .has_least = false, .has_most = false};  // Keras divides by beta_1
  a.beta_1 = args.get("beta_1", a.beta_1, kBelowOne);
  a.beta_2 = args.get("beta_2", a.beta_2, config::kFromZeroBelowOne);
  a.epsilon = args.get("epsilon", a.epsilon, config::at_least(0));
  a.warmup_steps = static_cast<double>(args.get("warmup_steps", 0, config::at_least(0)));
  return {[a](WeightUpdate& u) { return update(u, a); }};
}

}  // namespace

const OptimizerDef kScheduleFreeAdamW{.names = {"ScheduleFreeAdamW"},
                                      .path = "schedule_free_adam_w",
                                      .learning_rate = 0.0025,
                                      .weight_decay = {},
                                      .read = read,
                                      .slots = {{"momentum", "velocity"}}};

}  // namespace meshwork::optimizers
