#include "backend/cuda/elementwise/symbol.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "base/check.h"

namespace meshwork::cuda {

std::string Writer::let(const std::string& expression) {
  std::string name = fmt::format("v{}", values_++);
  statements_ += fmt::format("const auto {} = {};\n", name, expression);
  return name;
}

std::string literal(float x) {
  if (std::isnan(x)) return "MW_NAN";
  if (std::isinf(x)) return x > 0 ? "MW_INFINITY" : "-MW_INFINITY";
  // The same text with every release of fmt, whose 0 is not always 0x0p+0.
  std::array<char, 32> digits{};
  const double positive = std::abs(x);
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), positive, std::chars_format::hex);
  MW_CHECK(error == std::errc{}, "{}", x);
  return fmt::format("{}0x{}f", std::signbit(x) ? "-" : "", std::string_view(digits.data(), end));
}

std::string literal(std::int32_t x) { return fmt::format("{}", x); }

std::string literal(std::int64_t x) { return fmt::format("{}LL", x); }

}  // namespace meshwork::cuda
