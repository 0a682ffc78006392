// ExponentialDecay: lr0 rate^p; InverseTimeDecay: lr0 / (1 + rate p); p = step / decay_steps, whole
// numbers of it if staircase
#include <cmath>

#include "optim/schedules/schedule.h"

namespace meshwork::schedules {
namespace {

float exponential(float initial, float rate, float p) { return initial * std::pow(rate, p); }
float inverse_time(float initial, float rate, float p) { return initial / (1.0F + rate * p); }

template <float (*decayed)(float initial, float rate, float p)>
Schedule read(config::Reader& args) {
  const float initial = read_float(args, "initial_learning_rate", config::at_least(0));
  const float steps = read_float(args, "decay_steps", config::more_than(0));
  const float rate = read_float(args, "decay_rate", config::at_least(0));
  const bool staircase = args.get("staircase", false);
  return [=](std::int64_t step) -> double {
    const float p = static_cast<float>(step) / steps;
    return decayed(initial, rate, staircase ? std::floor(p) : p);
  };
}

}  // namespace

const ScheduleDef kExponentialDecay{.names = {"ExponentialDecay", "exponential_decay"},
                                    .read = read<exponential>};
const ScheduleDef kInverseTimeDecay{.names = {"InverseTimeDecay", "inverse_time_decay"},
                                    .read = read<inverse_time>};

}  // namespace meshwork::schedules
