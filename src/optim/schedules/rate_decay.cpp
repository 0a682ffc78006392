// ExponentialDecay: lr0 rate^p; InverseTimeDecay: lr0 / (1 + rate p); p = step / decay_steps, whole
// numbers of it if staircase
#include "optim/schedules/formula.h"

namespace meshwork::schedules {
namespace {

constexpr auto kExponential = [](float initial, float rate, auto p) {
  return initial * pow(rate, p);
};
constexpr auto kInverseTime = [](float initial, float rate, auto p) {
  return initial / (1.0F + rate * p);
};

template <const auto& kDecayed>
Schedule read(config::Reader& args) {
  const float initial = read_float(args, "initial_learning_rate", config::at_least(0));
  const float steps = read_float(args, "decay_steps", config::more_than(0));
  const float rate = read_float(args, "decay_rate", config::at_least(0));
  const bool staircase = args.get("staircase", false);
  return schedule([=](auto step) {
    const auto p = step / steps;
    return kDecayed(initial, rate, staircase ? floor(p) : p);
  });
}

}  // namespace

const ScheduleDef kExponentialDecay{.names = {"ExponentialDecay", "exponential_decay"},
                                    .read = read<kExponential>};
const ScheduleDef kInverseTimeDecay{.names = {"InverseTimeDecay", "inverse_time_decay"},
                                    .read = read<kInverseTime>};

}  // namespace meshwork::schedules
