// a' = a + g^2; w' = w - lr g / sqrt(a' + eps) (Duchi, Hazan and Singer 2011)
#include "ops/ops.h"
#include "optim/rule.h"

namespace meshwork::optimizers {
namespace {

ValueId update(WeightUpdate& u, double initial, double epsilon) {
  GraphBuilder& b = u.builder();
  const ValueId old = u.slot("accumulator", initial);
  const ValueId sum = ops::add(b, old, ops::square(b, u.gradient()));
  u.update_slot(old, sum);
  const ValueId root = ops::sqrt(b, ops::shift(b, sum, epsilon));
  const ValueId step = ops::multiply(b, u.gradient(), u.learning_rate());
  return ops::subtract(b, u.weight(), ops::divide(b, step, root));
}

UpdateRule read(config::Reader& args) {
  const double initial = args.get("initial_accumulator_value", 0.1, config::at_least(0));
  const double epsilon = args.get("epsilon", 1e-7, config::at_least(0));
  return {[=](WeightUpdate& u) { return update(u, initial, epsilon); }};
}

}  // namespace

const OptimizerDef kAdagrad{.names = {"Adagrad"},
                            .path = "adagrad",
                            .learning_rate = 0.001,
                            .weight_decay = {},
                            .read = read,
                            .slots = {{"accumulator"}}};

}  // namespace meshwork::optimizers
