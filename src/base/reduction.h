#pragma once

#include <string_view>

namespace meshwork {

/// How partial values of several devices combine into one.
enum class Reduction { kSum, kMax };

constexpr std::string_view to_string(Reduction reduction) {
  return reduction == Reduction::kSum ? "sum" : "max";
}

}  // namespace meshwork
