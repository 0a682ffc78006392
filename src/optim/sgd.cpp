// w' = w - lr g; with momentum m' = mu m - lr g, w' = w + m', or w + mu m' - lr g by Nesterov
#include "ops/ops.h"
#include "optim/rule.h"

namespace meshwork::optimizers {
namespace {

ValueId update(WeightUpdate& u, double momentum, bool nesterov) {
  GraphBuilder& b = u.builder();
  const ValueId rate = u.learning_rate();
  const ValueId step = ops::multiply(b, u.gradient(), rate);
  if (momentum == 0) return ops::subtract(b, u.weight(), step);
  const ValueId m = u.slot("momentum");
  const ValueId next = ops::subtract(b, ops::scale(b, m, momentum), step);
  u.update_slot(m, next);
  if (!nesterov) return ops::add(b, u.weight(), next);
  return ops::add(b, u.weight(), ops::subtract(b, ops::scale(b, next, momentum), step));
}

UpdateRule read(config::Reader& args) {
  const double momentum = args.get("momentum", 0.0, config::between(0, 1));
  const bool nesterov = args.get("nesterov", false);
  return {[=](WeightUpdate& u) { return update(u, momentum, nesterov); }};
}

}  // namespace

const OptimizerDef kSgd{.names = {"SGD"},
                        .path = "sgd",
                        .learning_rate = 0.01,
                        .weight_decay = {},
                        .read = read,
                        .slots = {{"momentum"}}};

}  // namespace meshwork::optimizers
