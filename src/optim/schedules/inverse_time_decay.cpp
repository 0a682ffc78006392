// lr0 / (1 + rate p) with p = step / decay_steps, whole numbers of it if staircase
#include <cmath>

#include "optim/schedules/schedule.h"

namespace meshwork::schedules {
namespace {

Schedule read(config::Reader& args) {
  const float initial = read_float(args, "initial_learning_rate", config::at_least(0));
  const float steps = read_float(args, "decay_steps", config::more_than(0));
  const float rate = read_float(args, "decay_rate", config::at_least(0));
  const bool staircase = args.get("staircase", false);
  return [=](std::int64_t step) -> double {
    float p = static_cast<float>(step) / steps;
    if (staircase) p = std::floor(p);
    return initial / (1.0F + rate * p);
  };
}

}  // namespace

const ScheduleDef kInverseTimeDecay{.names = {"InverseTimeDecay", "inverse_time_decay"},
                                    .read = read};

}  // namespace meshwork::schedules
