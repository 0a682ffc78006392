#include "base/utf8.h"

#include <algorithm>

namespace meshwork {
namespace {

/// What a first byte says of the bytes behind it.
struct Lead {
  std::size_t length = 0;
  unsigned least = 0x80, most = 0xBF;  ///< the second one
};

Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2 || byte > 0xF4) return {0};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {4};
}

}  // namespace

FirstCharacter first_character(std::string_view text) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  FirstCharacter first{.size = 1, .length = lead.length};
  for (; first.size < std::min(lead.length, text.size()); ++first.size) {
    const auto byte = static_cast<unsigned char>(text[first.size]);
    const bool is_second = first.size == 1;
    if (byte < (is_second ? lead.least : 0x80U) || byte > (is_second ? lead.most : 0xBFU)) break;
  }
  return first;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
    } else if (!continues_character(text[i])) {
      ++width;
    }
  }
  return width;
}

}  // namespace meshwork
