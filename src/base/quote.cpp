#include "base/quote.h"

#include <fmt/format.h>

#include <algorithm>

namespace meshwork {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Bytes of the UTF-8 character at the start of a text that is not empty; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text[i])) return 0;
  }
  // Longer than it need be, a surrogate, or beyond U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return is_wrong ? 0 : length;
}

/// Of a whole character. Those of two bytes from U+0080 to U+009F are control characters, too.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  const bool is_wide =
      first == 0xC2 && character.size() > 1 && static_cast<unsigned char>(character[1]) < 0xA0;
  return first < 0x20 || first == 0x7F || is_wide;
}

/// Calls `visit` with every character, or byte that belongs to none, and whether it is plain.
template <class Visit>
void for_each_character(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    visit(character, length > 0 && !is_control(character));
    text.remove_prefix(character.size());
  }
}

bool is_space(std::string_view character) {
  return character == "\n" || character == "\t" || character == "\r";
}

std::string escaped(std::string_view text, bool keeps_lines) {
  std::string result;
  for_each_character(text, [&](std::string_view character, bool is_plain) {
    if (is_plain || (keeps_lines && is_space(character))) {
      result += character;
    } else if (is_space(character)) {
      result += ' ';
    } else {
      for (const char c : character) {
        result += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
      }
    }
  });
  return result;
}

/// The most bytes, up to `most`, that end with a whole character.
std::size_t whole_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  std::size_t end = most;
  while (end > 0 && most - end < 4 && continues(text[end])) --end;
  return end;
}

}  // namespace

bool is_plain_text(std::string_view text) {
  bool all = true;
  for_each_character(text, [&](std::string_view character, bool is_plain) {
    all = all && (is_plain || is_space(character));
  });
  return all;
}

std::string visible(std::string_view text) { return escaped(text, true); }

std::string excerpt(std::string_view text, std::size_t most) {
  if (text.size() <= most) return escaped(text, false);
  return fmt::format("{}... ({} bytes)",
                     escaped(text.substr(0, whole_characters(text, most)), false), text.size());
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::size_t begin = whole_characters(text, most / 2);
  const std::size_t end = whole_characters(text, text.size() - most / 2);
  return fmt::format("{} ... ({} bytes are left out here) ... {}", text.substr(0, begin),
                     end - begin, text.substr(end));
}

}  // namespace meshwork
