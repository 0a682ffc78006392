// w' = w - lr sign(b1 m + (1 - b1) g); m' = b2 m + (1 - b2) g (Chen et al. 2023)
#include "ops/ops.h"
#include "optim/rule.h"

namespace meshwork::optimizers {
namespace {

ValueId update(WeightUpdate& u, double beta_1, double beta_2) {
  GraphBuilder& b = u.builder();
  const ValueId m = u.slot("momentum");
  const ValueId rest = ops::scale(b, u.gradient(), 1 - beta_1);
  const ValueId direction = b.add(ops::kSign, {ops::add(b, ops::scale(b, m, beta_1), rest)});
  decayed_average(u, m, u.gradient(), beta_2);
  return ops::subtract(b, u.weight(), ops::multiply(b, direction, u.learning_rate()));
}

UpdateRule read(config::Reader& args) {
  const double beta_1 = args.get("beta_1", 0.9, {.least = 0, .most = 1, .has_least = false});
  const double beta_2 = args.get("beta_2", 0.99, config::between(0, 1));
  return {[=](WeightUpdate& u) { return update(u, beta_1, beta_2); }};
}

}  // namespace

const OptimizerDef kLion{.names = {"Lion"},
                         .path = "lion",
                         .learning_rate = 0.001,
                         .weight_decay = {},
                         .read = read,
                         .slots = {{"momentum"}}};

}  // namespace meshwork::optimizers
