#include "backend/cuda/elementwise/symbol.h"

#include <fmt/format.h>

#include <cmath>

namespace meshwork::cuda {

std::string Writer::let(const std::string& expression) {
  std::string name = fmt::format("v{}", values_++);
  statements_ += fmt::format("const auto {} = {};\n", name, expression);
  return name;
}

std::string literal(float x) {
  if (std::isnan(x)) return "MW_NAN";
  if (std::isinf(x)) return x > 0 ? "MW_INFINITY" : "-MW_INFINITY";
  return fmt::format("{:a}f", x);
}

std::string literal(std::int32_t x) { return fmt::format("{}", x); }

std::string literal(std::int64_t x) { return fmt::format("{}LL", x); }

}  // namespace meshwork::cuda
