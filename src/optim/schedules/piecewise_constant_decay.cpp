// values[i] for the first boundaries[i] >= step, values.back() after all of them
#include "optim/schedules/formula.h"

namespace meshwork::schedules {
namespace {

const config::Value& require_list(config::Reader& args, const char* key) {
  const config::Value& value = args.require(key);
  if (!value.is_list()) fail_at(value.at, "{}: {} must be a list of numbers", args.what(), key);
  return value;
}

Schedule read(config::Reader& args) {
  const config::Value& edges = require_list(args, "boundaries");
  std::vector<double> boundaries;
  for (const config::Value& edge : edges.list) {
    boundaries.push_back(edge.as_real("boundaries"));
    if (boundaries.size() > 1 && boundaries.back() <= boundaries[boundaries.size() - 2]) {
      fail_at(edge.at, "{}: boundaries must rise, but {} follows {}", args.what(),
              boundaries.back(), boundaries[boundaries.size() - 2]);
    }
  }
  std::vector<float> values;
  const config::Value& levels = require_list(args, "values");
  for (const config::Value& level : levels.list) {
    values.push_back(static_cast<float>(level.as_real("values")));
    if (values.back() < 0)
      fail_at(level.at, "{}: a value is {}; give 0 or more", args.what(), values.back());
  }
  if (values.size() != boundaries.size() + 1) {
    fail_at(levels.at, "{}: {} values for {} boundaries; give one more value than boundaries",
            args.what(), values.size(), boundaries.size());
  }
  return schedule([=](auto step) {
    auto rate = constant(values.front(), step);
    for (std::size_t i = 0; i < boundaries.size(); ++i) {
      const auto edge = static_cast<float>(boundaries[i]);
      rate = choose(step > edge, constant(values[i + 1], step), rate);
    }
    return rate;
  });
}

}  // namespace

const ScheduleDef kPiecewiseConstantDecay{
    .names = {"PiecewiseConstantDecay", "piecewise_constant_decay"}, .read = read};

}  // namespace meshwork::schedules
