#include "data/tokenizer/regex_syntax.h"

#include "base/error.h"
#include "base/quote.h"

namespace meshwork::data {
namespace {

// What Oniguruma means by \s and \w. PCRE2's own \s has U+180E, its \w neither marks nor
// connectors.
constexpr std::string_view kSpace = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view kNoSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff})"
    R"(\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Pc})";

class Translation {
 public:
  Translation(std::string_view pattern, const std::string& place)
      : pattern_(pattern), place_(place) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      if (in_class_) {
        in_class();
      } else {
        outside();
      }
    }
    return out_;
  }

 private:
  bool next_is(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }

  void copy(std::size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ += count;
  }

  [[noreturn]] void refuse(const char* what) const {
    fail(ExitCode::kFile,
         "{}: {} at byte {} of '{}' does not mean the same to Oniguruma and to PCRE2, which reads "
         "patterns here; write it another way",
         place_, what, at_, excerpt(pattern_));
  }

  void in_class() {
    if (next_is("\\")) return escape();
    if (next_is("[")) refuse("a class in a class");
    if (next_is("&&")) refuse("'&&'");
    if (next_is("]")) in_class_ = false;
    copy(1);
  }

  void outside() {
    if (next_is("\\")) return escape();
    if (next_is("(?")) return group();
    if (next_is("{")) return interval();
    if (next_is("[")) {
      in_class_ = true;
      copy(next_is("[^") ? 2 : 1);
      if (next_is("]")) refuse("a class that begins with ']'");
      return;
    }
    copy(1);
  }

  /// (?:..), (?=..), (?!..), (?>..), (?<=..), (?<!..), (?i), (?i:..)
  void group() {
    for (const char* known : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i)", "(?i:"}) {
      if (next_is(known)) return copy(std::string_view(known).size());
    }
    refuse("a group of this kind");
  }

  /// {1,3}
  void interval() {
    const std::size_t end = pattern_.find('}', at_);
    const std::string_view text = pattern_.substr(at_, end == pattern_.npos ? end : end - at_ + 1);
    const bool is_count = text.size() > 2 && text.back() == '}' && text[1] != ',' &&
                          text.find_first_not_of("0123456789,", 1) == text.size() - 1;
    if (!is_count) refuse("'{'");
    copy(text.size());
    if (next_is("+")) refuse("'}+'");
  }

  void escape() {
    constexpr std::string_view kSame = "dDnrtfeaAz";
    const char c = at_ + 1 < pattern_.size() ? pattern_[at_ + 1] : '\0';
    const bool is_sign = static_cast<unsigned char>(c) < 0x80 && c > ' ' && std::isalnum(c) == 0;
    if (c == 's') return put_class(kSpace, "[");
    if (c == 'S') return put_class(kNoSpace, "[");
    if (c == 'w') return put_class(kWord, "[");
    if (c == 'W' && !in_class_) return put_class(kWord, "[^");
    if (c == 'p' || c == 'P') return property();
    if (c == 'x' && next_is("\\x{")) return copy(3);
    if (kSame.find(c) == kSame.npos && !is_sign && c != ' ') refuse("this escape");
    copy(2);
  }

  void put_class(std::string_view members, std::string_view open) {
    if (!in_class_) out_ += open;
    out_ += members;
    if (!in_class_) out_ += ']';
    at_ += 2;
  }

  /// \p{Lu}
  void property() {
    const std::size_t end = pattern_.find('}', at_);
    if (pattern_.substr(at_ + 2, 1) != "{" || end == pattern_.npos) refuse("this property");
    copy(end + 1 - at_);
  }

  std::string_view pattern_;
  const std::string& place_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, const std::string& place) {
  return Translation(pattern, place).run();
}

}  // namespace meshwork::data
