#include "data/tokenizer/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "data/tokenizer/unicode.h"

namespace meshwork::data {
namespace {

constexpr char32_t kFirstOfOthers = 0x100;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> letters{};
  std::array<std::int16_t, 2 * 256> bytes{};  // -1: no letter
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (std::int16_t& byte : alphabet.bytes) byte = -1;
  char32_t next = kFirstOfOthers;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t letter = stands_for_itself(byte) ? byte : next++;
    alphabet.letters[byte] = letter;
    alphabet.bytes[letter] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

void append_as_letters(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const char32_t letter = kAlphabet.letters[static_cast<unsigned char>(c)];
    if (letter < 0x80) {
      out += static_cast<char>(letter);
    } else {
      out += static_cast<char>(0xC0U | letter >> 6U);
      out += static_cast<char>(0x80U | (letter & 0x3FU));
    }
  }
}

std::optional<std::string> bytes_of_letters(std::string_view letters) {
  std::string bytes;
  bool is_known = true;
  for_characters(letters, [&](char32_t c, std::string_view) {
    const std::int16_t byte = c < kAlphabet.bytes.size() ? kAlphabet.bytes[c] : std::int16_t{-1};
    is_known = is_known && byte >= 0;
    bytes += static_cast<char>(byte);
  });
  return is_known ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace meshwork::data
