#pragma once

#include <cstddef>
#include <string_view>

namespace meshwork {

/// Of ASCII, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// What names are made of: letters, digits and '_'.
constexpr bool is_name_part(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

/// Bytes of the name at the start of `text`, which begins with no digit; 0 if there is none.
constexpr std::size_t name_length(std::string_view text) {
  std::size_t length = 0;
  if (text.empty() || is_digit(text[0])) return length;
  while (length < text.size() && is_name_part(text[length])) ++length;
  return length;
}

constexpr bool is_name(std::string_view text) {
  return !text.empty() && name_length(text) == text.size();
}

}  // namespace meshwork
