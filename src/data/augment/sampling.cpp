#include "data/augment/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace meshwork::data {

void read_fill(config::Reader& args, FillMode default_mode, Sampling& sampling) {
  sampling.fill_mode = args.choose("fill_mode", default_mode,
                                   {{"reflect", FillMode::kReflect},
                                    {"constant", FillMode::kConstant},
                                    {"wrap", FillMode::kWrap},
                                    {"nearest", FillMode::kNearest}});
  sampling.fill_value = static_cast<float>(args.get("fill_value", 0.0));
}

Interpolation read_interpolation(config::Reader& keys) {
  return keys.choose(
      "interpolation", Interpolation::kBilinear,
      {{"bilinear", Interpolation::kBilinear}, {"nearest", Interpolation::kNearest}});
}

std::int64_t source_index(std::int64_t index, std::int64_t size, FillMode mode) {
  if (index >= 0 && index < size) return index;
  switch (mode) {
    case FillMode::kConstant:
      break;
    case FillMode::kNearest:
      return index < 0 ? 0 : size - 1;
    case FillMode::kWrap: {
      const std::int64_t rest = index % size;
      return rest < 0 ? rest + size : rest;
    }
    case FillMode::kReflect: {
      std::int64_t rest = index % (2 * size);
      if (rest < 0) rest += 2 * size;
      return rest < size ? rest : 2 * size - 1 - rest;
    }
  }
  return -1;
}

Range read_factor(const config::Value& value, std::string_view key, double least, bool open) {
  const auto number = [&](const config::Value& item) {
    const double factor = item.as_real(key);
    if (factor <= 1 && (open ? factor > least : factor >= least)) return factor;
    config::fail_at(item.at, "{} must be {} {} and at most 1, not {}", key,
                    open ? "more than" : "at least", least, factor);
  };
  if (!value.is_list()) {
    const double factor = std::abs(number(value));
    return {std::max(-factor, least), factor};
  }
  if (value.list.size() != 2) {
    config::fail_at(value.at, "{} must be a number, or a list of a lower and an upper one", key);
  }
  const double first = number(value.list[0]);
  const double second = number(value.list[1]);
  return {std::min(first, second), std::max(first, second)};
}

Range read_factor(config::Reader& args, std::string_view key, double least, Range fallback) {
  const config::Value* const given = args.find(key);
  return given == nullptr ? fallback : read_factor(*given, key, least);
}

double read_probability(config::Reader& args) {
  const Range factor = read_factor(args, "factor", 0, {0, 1});
  return (factor.lower + factor.upper) / 2;
}

}  // namespace meshwork::data
