// lr0 ((1 - alpha) m_mul^i (1 + cos(pi p)) / 2 + alpha): in period i, each t_mul times as long as
// the one before, p goes from 0 to 1
#include <numbers>

#include "optim/schedules/formula.h"

namespace meshwork::schedules {
namespace {

struct Arguments {
  float initial = 0;
  float first_steps = 1;
  float t_mul = 2;
  float m_mul = 1;
  float alpha = 0;
};

/// A period, and the share of it that is over.
template <class Number>
struct Place {
  Number period, share;
};

template <class Number>
Place<Number> place_of(Number p, float t_mul) {
  if (t_mul == 1.0F) return {floor(p), p - floor(p)};
  const Number period = floor(log(1.0F - p * (1.0F - t_mul)) / log(constant(t_mul, p)));
  const Number growth = pow(t_mul, period);
  const Number start = (1.0F - growth) / (1.0F - t_mul);
  return {period, (p - start) / growth};
}

template <class Number>
Number learning_rate(Number step, const Arguments& a) {
  const auto [period, share] = place_of(step / a.first_steps, a.t_mul);
  const Number half = 0.5F * pow(a.m_mul, period) * (1.0F + cos(std::numbers::pi_v<float> * share));
  return a.initial * ((1.0F - a.alpha) * half + a.alpha);
}

Schedule read(config::Reader& args) {
  Arguments a;
  a.initial = read_float(args, "initial_learning_rate", config::at_least(0));
  a.first_steps = read_float(args, "first_decay_steps", config::more_than(0));
  a.t_mul = static_cast<float>(args.get("t_mul", 2.0, config::at_least(1)));
  a.m_mul = static_cast<float>(args.get("m_mul", 1.0, config::at_least(0)));
  a.alpha = static_cast<float>(args.get("alpha", 0.0, config::at_least(0)));
  return schedule([a](auto step) { return learning_rate(step, a); });
}

}  // namespace

const ScheduleDef kCosineDecayRestarts{.names = {"CosineDecayRestarts", "cosine_decay_restarts"},
                                       .read = read};

}  // namespace meshwork::schedules
