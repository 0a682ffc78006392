// (lr0 - end) (1 - p)^power + end with p = min(step, steps) / steps; with `cycle` steps grow to the
// next multiple instead
#include <algorithm>
#include <cmath>

#include "optim/schedules/schedule.h"

namespace meshwork::schedules {
namespace {

Schedule read(config::Reader& args) {
  const float initial = read_learning_rate(args, "initial_learning_rate");
  const float steps = read_steps(args, "decay_steps");
  const auto end = static_cast<float>(args.get("end_learning_rate", 0.0001));
  const auto power = static_cast<float>(args.get("power", 1.0));
  const bool cycle = args.get("cycle", false);
  if (end < 0) fail_at(args.at(), "{}: end_learning_rate is {}; give 0 or more", args.what(), end);
  if (power < 0) fail_at(args.at(), "{}: power is {}; give 0 or more", args.what(), power);
  return [=](std::int64_t number) -> double {
    float step = static_cast<float>(number);
    float length = steps;
    if (cycle) {
      length *= number == 0 ? 1.0F : std::ceil(step / steps);
    } else {
      step = std::min(step, steps);
    }
    return (initial - end) * std::pow(1.0F - step / length, power) + end;
  };
}

}  // namespace

const ScheduleDef kPolynomialDecay{.names = {"PolynomialDecay", "polynomial_decay"}, .read = read};

}  // namespace meshwork::schedules
