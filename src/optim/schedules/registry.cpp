#include "config/lookup.h"
#include "optim/schedules/formula.h"

namespace meshwork {

const std::vector<const ScheduleDef*>& schedule_registry() {
  static const std::vector<const ScheduleDef*> registry = {
      &schedules::kCosineDecay,
      &schedules::kCosineDecayRestarts,
      &schedules::kExponentialDecay,
      &schedules::kInverseTimeDecay,
      &schedules::kPiecewiseConstantDecay,
      &schedules::kPolynomialDecay,
  };
  return registry;
}

namespace {

/// No name of a schedule begins like "0.1" in quotes, or .inf.
bool is_no_name(const config::Value& value) {
  return value.is_scalar() && value.scalar.find_first_of("+-.0123456789") == 0;
}

}  // namespace

Schedule read_schedule(const config::Value* value, double fallback) {
  if (value == nullptr || value->is_real() || is_no_name(*value)) {
    const double number = value == nullptr ? fallback : value->as_real("learning_rate");
    if (number < 0) fail_at(value->at, "learning_rate is {}; give 0 or more", number);
    return schedules::schedule(
        [rate = static_cast<float>(number)](auto step) { return schedules::constant(rate, step); });
  }
  const config::ClassSpec spec = config::read_class(*value, "learning_rate");
  const ScheduleDef& def = config::look_up(schedule_registry(), spec, "learning rate schedule");
  config::Reader args(spec.args, fmt::format("schedule {}", spec.name));
  args.find("name");
  Schedule schedule = def.read(args);
  args.finish();
  return schedule;
}

}  // namespace meshwork
