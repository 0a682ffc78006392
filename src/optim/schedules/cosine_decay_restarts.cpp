// lr0 ((1 - alpha) m_mul^i (1 + cos(pi p)) / 2 + alpha): in period i, each t_mul times as long as
// the one before, p goes from 0 to 1
#include <cmath>
#include <numbers>

#include "optim/schedules/schedule.h"

namespace meshwork::schedules {
namespace {

struct Arguments {
  float initial = 0;
  float first_steps = 1;
  float t_mul = 2;
  float m_mul = 1;
  float alpha = 0;
};

float learning_rate(std::int64_t step, const Arguments& a) {
  float p = static_cast<float>(step) / a.first_steps;
  float period = 0;
  if (a.t_mul == 1.0F) {
    period = std::floor(p);
    p -= period;
  } else {
    period = std::floor(std::log(1.0F - p * (1.0F - a.t_mul)) / std::log(a.t_mul));
    const float growth = std::pow(a.t_mul, period);
    const float start = (1.0F - growth) / (1.0F - a.t_mul);
    p = (p - start) / growth;
  }
  const float half =
      0.5F * std::pow(a.m_mul, period) * (1.0F + std::cos(std::numbers::pi_v<float> * p));
  return a.initial * ((1.0F - a.alpha) * half + a.alpha);
}

Schedule read(config::Reader& args) {
  Arguments a;
  a.initial = read_float(args, "initial_learning_rate", config::at_least(0));
  a.first_steps = read_float(args, "first_decay_steps", config::more_than(0));
  a.t_mul = static_cast<float>(args.get("t_mul", 2.0, config::at_least(1)));
  a.m_mul = static_cast<float>(args.get("m_mul", 1.0, config::at_least(0)));
  a.alpha = static_cast<float>(args.get("alpha", 0.0, config::at_least(0)));
  return [a](std::int64_t step) -> double { return learning_rate(step, a); };
}

}  // namespace

const ScheduleDef kCosineDecayRestarts{.names = {"CosineDecayRestarts", "cosine_decay_restarts"},
                                       .read = read};

}  // namespace meshwork::schedules
