#include "config/lookup.h"
#include "optim/schedules/schedule.h"

namespace meshwork {
namespace {

float not_negative(const config::Value& value, std::string_view key) {
  const double rate = value.as_real(key);
  if (rate < 0) fail_at(value.at, "{} is {}; give 0 or more", key, rate);
  return static_cast<float>(rate);
}

}  // namespace

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

Schedule read_schedule(const config::Value* value, double fallback) {
  if (value == nullptr || value->is_real()) {
    const float rate =
        value == nullptr ? static_cast<float>(fallback) : not_negative(*value, "learning_rate");
    return [rate](std::int64_t) { return static_cast<double>(rate); };
  }
  const config::ClassSpec spec = config::read_class(*value, "learning_rate");
  const ScheduleDef& def = config::look_up(schedule_registry(), spec, "learning rate schedule");
  config::Reader args(spec.args, fmt::format("schedule {}", spec.name));
  args.find("name");
  Schedule schedule = def.read(args);
  args.finish();
  return schedule;
}

float read_float(config::Reader& args, std::string_view key) {
  return static_cast<float>(args.require(key).as_real(key));
}

float read_learning_rate(config::Reader& args, std::string_view key) {
  return not_negative(args.require(key), key);
}

float read_steps(config::Reader& args, std::string_view key) {
  const config::Value& value = args.require(key);
  const double steps = value.as_real(key);
  if (steps <= 0) fail_at(value.at, "{}: {} is {}; give more than 0", args.what(), key, steps);
  return static_cast<float>(steps);
}

}  // namespace meshwork
