#pragma once

#include <string_view>
#include <vector>

#include "config/config.h"
#include "optim/optimizer.h"

namespace meshwork {

/// One schedule, in the list of registry.cpp: it reads a formula (formula.h), which is computed in
/// float32, in Keras's order.
struct ScheduleDef {
  std::vector<std::string_view> names;
  Schedule (*read)(config::Reader& args);
};

const std::vector<const ScheduleDef*>& schedule_registry();

/// Reads a number or `ExponentialDecay: {..}`; nullptr: `fallback` in every step.
Schedule read_schedule(const config::Value* value, double fallback);

/// A required number as float32.
inline float read_float(config::Reader& args, std::string_view key, const config::Range& range) {
  return static_cast<float>(args.require_real(key, range));
}

namespace schedules {
extern const ScheduleDef kCosineDecay;
extern const ScheduleDef kCosineDecayRestarts;
extern const ScheduleDef kExponentialDecay;
extern const ScheduleDef kInverseTimeDecay;
extern const ScheduleDef kPiecewiseConstantDecay;
extern const ScheduleDef kPolynomialDecay;
}  // namespace schedules

}  // namespace meshwork
