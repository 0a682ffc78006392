#include "config/names.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/letters.h"

namespace meshwork {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

std::string snake_case(std::string_view class_name) {
  std::string result;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const char c = class_name[i];
    const bool word_begins =
        is_upper(c) && i + 1 < class_name.size() && is_lower(class_name[i + 1]);
    const bool case_rises = is_upper(c) && i > 0 && is_lower(class_name[i - 1]);
    if (i > 0 && (word_begins || case_rises)) result += '_';
    result += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

std::string without_alias(std::string_view class_name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kSpellings{{
      {"Abs", "Absolute"},
      {"Amax", "Max"},
      {"Amin", "Min"},
      {"AvgPool", "AveragePooling"},
      {"MaxPool", "MaxPooling"},
      {"Convolution", "Conv"},
      {"GroupQueryAttention", "GroupedQueryAttention"},
      {"TrueDivide", "Divide"},
  }};
  std::string result(class_name);
  for (const auto& [alias, meant] : kSpellings) {
    const std::size_t at = result.find(alias);
    const std::size_t end = at == std::string::npos ? at : at + alias.size();
    // The whole name, or a number of dimensions follows: "MaxPool2D", not "MaxPooling2D".
    const bool is_alias = result == alias || (end < result.size() && is_digit(result[end]));
    if (is_alias) return result.replace(at, alias.size(), meant);
  }
  return result;
}

std::string AutoNames::next(std::string_view class_name) {
  const std::string prefix = snake_case(without_alias(class_name));
  const int count = used_[prefix]++;
  return count == 0 ? prefix : fmt::format("{}_{}", prefix, count);
}

}  // namespace meshwork
