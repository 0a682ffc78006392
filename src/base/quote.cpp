#include "base/quote.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace meshwork {
namespace {

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
    const FirstCharacter first = first_character(text);
    const std::string_view character = text.substr(0, first.is_whole() ? first.size : 1);
    visit(character, first.is_whole() && !is_control(character));
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
  while (end > 0 && most - end < 4 && continues_character(text[end])) --end;
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
