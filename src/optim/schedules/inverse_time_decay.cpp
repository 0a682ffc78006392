// lr0 / (1 + rate p) with p = step / decay_steps, whole numbers of it if staircase
#include <cmath>

#include "optim/schedules/schedule.h"

namespace meshwork::schedules {
namespace {

Schedule read(config::Reader& args) {
  const float initial = read_learning_rate(args, "initial_learning_rate");
  const float steps = read_steps(args, "decay_steps");
  const float rate = read_float(args, "decay_rate");
  const bool staircase = args.get("staircase", false);
  if (rate < 0) fail_at(args.at(), "{}: decay_rate is {}; give 0 or more", args.what(), rate);
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
