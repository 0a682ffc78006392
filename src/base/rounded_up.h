#pragma once

#include <cstdint>

namespace meshwork {

/// The quotient, rounded up, of numbers that are not negative.
constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The least multiple of `unit` that is not below x.
constexpr std::int64_t rounded_up(std::int64_t x, std::int64_t unit) {
  return ceil_divide(x, unit) * unit;
}

}  // namespace meshwork
