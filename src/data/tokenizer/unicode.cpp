#include "data/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/check.h"
#include "base/utf8.h"

namespace meshwork::data {
namespace {

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_between(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

utf8proc_option_t options_of(NormalForm form) {
  int options = UTF8PROC_STABLE;
  const bool composes = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  options |= composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNfkc || form == NormalForm::kNfkd) options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);
}

void append_normalized(std::string_view text, NormalForm form, std::string& out) {
  utf8proc_uint8_t* mapped = nullptr;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const utf8proc_ssize_t size = utf8proc_map(bytes, std::ssize(text), &mapped, options_of(form));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, std::free);
  MW_CHECK(size >= 0, "utf8proc: {}", utf8proc_errmsg(size));
  out.append(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size));
}

}  // namespace

std::string utf8_of(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const FirstCharacter first = first_character(bytes);
    out += first.is_whole() ? bytes.substr(0, first.size) : std::string_view("\uFFFD");
    bytes.remove_prefix(first.size);
  }
  return out;
}

// No form joins what stands on the two sides of a line end, so lines go one by one: utf8proc takes
// four bytes for each character of what it is given.
std::string normalized(std::string_view text, NormalForm form) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n', 1));
    if (is_ascii(line)) {
      out += line;
    } else {
      append_normalized(line, form, out);
    }
    text.remove_prefix(line.size());
  }
  return out;
}

void append_lower(char32_t c, std::string& out) {
  constexpr char32_t kDottedCapitalI = 0x130;
  if (c == kDottedCapitalI) {
    out += "i\u0307";
    return;
  }
  utf8::append(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || is_between(c, '\t', '\r');
  const utf8proc_category_t category = category_of(c);
  return c == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool is_nonspacing_mark(char32_t c) { return category_of(c) == UTF8PROC_CATEGORY_MN; }

bool is_mark(char32_t c) {
  const utf8proc_category_t category = category_of(c);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

bool is_number(char32_t c) {
  if (c < 0x80) return is_between(c, '0', '9');
  const utf8proc_category_t category = category_of(c);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return is_between(c, '!', '/') || is_between(c, ':', '@') || is_between(c, '[', '`') ||
           is_between(c, '{', '~');
  }
  const utf8proc_category_t category = category_of(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_control(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const utf8proc_category_t category = category_of(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

bool is_word(char32_t c) {
  const utf8proc_category_t category = category_of(c);
  const bool is_letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
  const bool is_joiner = c == 0x200C || c == 0x200D;
  const bool is_letter_in_a_circle =
      is_between(c, 0x24B6, 0x24E9) || is_between(c, 0x1F130, 0x1F149) ||
      is_between(c, 0x1F150, 0x1F169) || is_between(c, 0x1F170, 0x1F189);
  return is_letter || is_mark(c) || category == UTF8PROC_CATEGORY_ND ||
         category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC || is_joiner ||
         is_letter_in_a_circle;
}

// The blocks of BERT's tokenization.py, with a slip of the Rust library (2B920 for 2B820) that the
// tokenizers in use have been made with.
bool is_cjk(char32_t c) {
  return is_between(c, 0x3400, 0x4DBF) || is_between(c, 0x4E00, 0x9FFF) ||
         is_between(c, 0xF900, 0xFAFF) || is_between(c, 0x20000, 0x2A6DF) ||
         is_between(c, 0x2A700, 0x2B81F) || is_between(c, 0x2B920, 0x2CEAF) ||
         is_between(c, 0x2F800, 0x2FA1F);
}

}  // namespace meshwork::data
