#pragma once

#include <cstdint>

#include "base/parallel.h"

namespace meshwork {

/// The least multiple of `unit` that is not below x.
constexpr std::int64_t rounded_up(std::int64_t x, std::int64_t unit) {
  return ceil_divide(x, unit) * unit;
}

}  // namespace meshwork
