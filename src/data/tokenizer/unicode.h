#pragma once

#include <utf8.h>

#include <string>
#include <string_view>

/// Properties and forms of characters, by utf8proc. Texts are valid UTF-8.
namespace meshwork::data {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

std::string normalized(std::string_view text, NormalForm form);

/// Each character by itself: a sigma at the end of a word is one like all others.
void append_lower(char32_t c, std::string& out);

bool is_space(char32_t c);  ///< White_Space of Unicode
bool is_mark(char32_t c);   ///< of any kind
bool is_nonspacing_mark(char32_t c);
bool is_number(char32_t c);       ///< also Ⅷ and ½
bool is_punctuation(char32_t c);  ///< and all signs of ASCII
bool is_control(char32_t c);      ///< controls, formats and private use; no tab, no line end
bool is_word(char32_t c);         ///< \w: letters, marks, digits, connectors
bool is_cjk(char32_t c);          ///< an ideograph that a BertNormalizer sets apart

/// The bytes with U+FFFD for each stretch of them that begins a character without ending it, or
/// begins none.
std::string utf8_of(std::string_view bytes);

/// Calls `visit` with each character and its bytes.
template <class Visit>
void for_characters(std::string_view text, const Visit& visit) {
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    const char* const begin = at;
    const auto c = static_cast<char32_t>(utf8::unchecked::next(at));
    visit(c, std::string_view(begin, static_cast<std::size_t>(at - begin)));
  }
}

}  // namespace meshwork::data
