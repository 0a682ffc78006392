// (lr0 - end) (1 - p)^power + end with p = min(step, steps) / steps; with `cycle` steps grow to the
// next multiple instead
#include "optim/schedules/formula.h"

namespace meshwork::schedules {
namespace {

Schedule read(config::Reader& args) {
  const float initial = read_float(args, "initial_learning_rate", config::at_least(0));
  const float steps = read_float(args, "decay_steps", config::more_than(0));
  const auto end = static_cast<float>(args.get("end_learning_rate", 0.0001, config::at_least(0)));
  const auto power = static_cast<float>(args.get("power", 1.0, config::at_least(0)));
  const bool cycle = args.get("cycle", false);
  return schedule([=](auto step) {
    auto length = constant(steps, step);
    if (cycle) {
      const auto one = constant(1.0F, step);
      length = steps * choose(step > 0.0F, ceiling(step / steps), one);
    } else {
      step = least(step, steps);
    }
    return (initial - end) * pow(1.0F - step / length, power) + end;
  });
}

}  // namespace

const ScheduleDef kPolynomialDecay{.names = {"PolynomialDecay", "polynomial_decay"}, .read = read};

}  // namespace meshwork::schedules
