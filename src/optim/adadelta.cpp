// a' = rho a + (1 - rho) g^2; i = -sqrt(d + eps) g / sqrt(a' + eps); d' = rho d + (1 - rho) i^2;
// w' = w + lr i (Zeiler 2012)
#include "ops/ops.h"
#include "optim/rule.h"

namespace meshwork::optimizers {
namespace {

ValueId update(WeightUpdate& u, double rho, double epsilon) {
  GraphBuilder& b = u.builder();
  const auto root = [&](ValueId x) { return ops::sqrt(b, ops::shift(b, x, epsilon)); };
  const ValueId square = ops::square(b, u.gradient());
  const ValueId gradients = decayed_average(u, u.slot("accumulated_grad"), square, rho);
  const ValueId increments = u.slot("accumulated_delta_var");
  const ValueId scaled = ops::multiply(b, root(increments), u.gradient());
  const ValueId step = ops::divide(b, scaled, root(gradients));
  decayed_average(u, increments, ops::square(b, step), rho);
  return ops::subtract(b, u.weight(), ops::multiply(b, step, u.learning_rate()));
}

UpdateRule read(config::Reader& args) {
  const double rho = args.get("rho", 0.95, config::between(0, 1));
  const double epsilon = args.get("epsilon", 1e-7, config::at_least(0));
  return {[=](WeightUpdate& u) { return update(u, rho, epsilon); }};
}

}  // namespace

const OptimizerDef kAdadelta{.names = {"Adadelta"},
                             .path = "adadelta",
                             .learning_rate = 0.001,
                             .weight_decay = {},
                             .read = read,
                             .slots = {{"accumulated_grad", "accumulated_delta_var"}}};

}  // namespace meshwork::optimizers
