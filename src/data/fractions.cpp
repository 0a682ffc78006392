#include "data/fractions.h"

#include <cmath>

namespace meshwork::data {
namespace {

constexpr double kRounding = 1e-9;

}  // namespace

std::int64_t count_of(double fraction, std::int64_t count) {
  if (fraction > 1 - kRounding) return count;
  constexpr double kSlack = 1e-6;  // 0.7 + 0.2 of 10 is 9
  return static_cast<std::int64_t>(std::floor(fraction * static_cast<double>(count) + kSlack));
}

bool is_part(const config::Value::Entry& split, const config::Value* files) {
  return files != nullptr && split.value.is_real();
}

Fraction read_fraction(const config::Value::Entry& split, double begin) {
  const std::string what = "splits." + split.key;
  const config::Value& value = split.value;
  if (!value.is_real()) {
    config::fail_at(value.at, "{} must be a fraction of the `files`, such as 0.9, not {}", what,
                    describe(value));
  }
  const double fraction = value.as_real(what);
  if (!(fraction > 0 && begin + fraction < 1 + kRounding)) {
    config::fail_at(value.at,
                    "{} is {} of the `files`, of which {:.6g} is left; fractions are more than 0 "
                    "and 1 in all",
                    what, fraction, 1 - begin);
  }
  return {begin, begin + fraction};
}

}  // namespace meshwork::data
