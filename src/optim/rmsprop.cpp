// v' = rho v + (1 - rho) g^2; i = lr g / sqrt(v' + eps), centered sqrt(v' - a'^2 + eps) with
// a' = rho a + (1 - rho) g; w' = w - i, or with momentum b' = mu b + i, w' = w - b'
#include "ops/ops.h"
#include "optim/rule.h"

namespace meshwork::optimizers {
namespace {

struct Arguments {
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
};

ValueId update(WeightUpdate& u, const Arguments& args) {
  GraphBuilder& b = u.builder();
  const ValueId square = ops::square(b, u.gradient());
  ValueId under_root = decayed_average(u, u.slot("velocity"), square, args.rho);
  if (args.centered) {
    const ValueId mean = decayed_average(u, u.slot("average_gradient"), u.gradient(), args.rho);
    under_root = ops::subtract(b, under_root, ops::square(b, mean));
  }
  const ValueId root = ops::sqrt(b, ops::shift(b, under_root, args.epsilon));
  const ValueId rate = u.learning_rate();
  ValueId step = ops::divide(b, ops::multiply(b, u.gradient(), rate), root);
  if (args.momentum > 0) {
    const ValueId old = u.slot("momentum");
    step = ops::add(b, ops::scale(b, old, args.momentum), step);
    u.update_slot(old, step);
  }
  return ops::subtract(b, u.weight(), step);
}

UpdateRule read(config::Reader& args) {
  Arguments a;
  a.rho = args.get("rho", a.rho, config::kFromZeroBelowOne);
  a.momentum = args.get("momentum", a.momentum, config::kFromZeroBelowOne);
  a.epsilon = args.get("epsilon", 1e-7, config::at_least(0));
  a.centered = args.get("centered", a.centered);
  return {[a](WeightUpdate& u) { return update(u, a); }};
}

}  // namespace

const OptimizerDef kRmsProp{.names = {"RMSprop"},
                            .path = "rm_sprop",
                            .learning_rate = 0.001,
                            .weight_decay = {},
                            .read = read,
                            .slots = {{"velocity"}, {"momentum"}, {"average_gradient"}}};

}  // namespace meshwork::optimizers
