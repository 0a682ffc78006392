// from ((1 - alpha) (1 + cos(pi p)) / 2 + alpha) with p = step / decay_steps up to 1; with a
// warmup_target first a straight line to it, and the cosine begins there
#include <numbers>
#include <optional>

#include "optim/schedules/formula.h"

namespace meshwork::schedules {
namespace {

struct Arguments {
  float initial = 0;
  float steps = 1;
  float alpha = 0;
  std::optional<float> target;
  float warmup_steps = 0;
};

template <class Number>
Number cosine(Number step, float from, const Arguments& a) {
  const Number half = 0.5F * (1.0F + cos(std::numbers::pi_v<float> * (step / a.steps)));
  return from * ((1.0F - a.alpha) * half + a.alpha);
}

template <class Number>
Number learning_rate(Number step, const Arguments& a) {
  if (!a.target) return cosine(least(step, a.steps), a.initial, a);
  const Number warm = (*a.target - a.initial) * (step / a.warmup_steps) + a.initial;
  const Number decayed = cosine(least(step - a.warmup_steps, a.steps), *a.target, a);
  return choose(a.warmup_steps > step, warm, decayed);
}

Schedule read(config::Reader& args) {
  Arguments a;
  a.initial = read_float(args, "initial_learning_rate", config::at_least(0));
  a.steps = read_float(args, "decay_steps", config::more_than(0));
  a.alpha = static_cast<float>(args.get("alpha", 0.0, config::at_least(0)));
  if (args.find("warmup_target") != nullptr)
    a.target = read_float(args, "warmup_target", config::at_least(0));
  a.warmup_steps = static_cast<float>(args.get("warmup_steps", 0.0, config::at_least(0)));
  return schedule([a](auto step) { return learning_rate(step, a); });
}

}  // namespace

const ScheduleDef kCosineDecay{.names = {"CosineDecay", "cosine_decay"}, .read = read};

}  // namespace meshwork::schedules
