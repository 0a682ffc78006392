#include "base/join.h"

#include <fmt/format.h>

namespace meshwork {
namespace {

template <class T>
std::string join_any(std::span<const T> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += fmt::format("{}", parts[i]);
  }
  return text;
}

}  // namespace

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return join_any(parts, separator);
}
std::string join(std::span<const std::string_view> parts, std::string_view separator) {
  return join_any(parts, separator);
}
std::string join(std::span<const int> parts, std::string_view separator) {
  return join_any(parts, separator);
}
std::string join(std::span<const std::int64_t> parts, std::string_view separator) {
  return join_any(parts, separator);
}
std::string join(std::span<const double> parts, std::string_view separator) {
  return join_any(parts, separator);
}

}  // namespace meshwork
