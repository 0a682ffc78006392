#pragma once

#include <cstddef>
#include <string_view>

namespace meshwork {

/// Whether a byte of UTF-8 belongs to the character of the one before it.
constexpr bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// The character at the start of a text, or what there is of it.
struct FirstCharacter {
  std::size_t size = 1;    ///< bytes that belong to it; 1 where none begins
  std::size_t length = 0;  ///< bytes of such a character; 0 where none begins

  bool is_whole() const { return size == length; }
};

/// Of a text that is not empty. Forms that are longer than they need be, surrogates and what is
/// beyond U+10FFFF are no characters (Unicode, table 3-7).
FirstCharacter first_character(std::string_view text);

/// Columns that the text takes; escape sequences for colour take none.
std::size_t width_of(std::string_view text);

}  // namespace meshwork
