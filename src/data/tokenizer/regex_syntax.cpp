#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/tokenizer/regex_syntax.h"

#include <pcre2.h>

#include <cctype>

#include "base/error.h"
#include "base/quote.h"

namespace meshwork::data {
namespace {

// What Oniguruma means by \s and \w. PCRE2's own \s has U+180E, its \w neither marks nor
// connectors. Letters are also those in circles and squares, and outside of a class some digits
// above a line, and fractions.
constexpr std::string_view kSpace = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view kNoSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff})"
    R"(\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169})"
    R"(\x{1f170}-\x{1f189})";
constexpr std::string_view kAlsoAlone = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

bool is_regex(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                                         pattern.size(), PCRE2_UTF, &error, &offset, nullptr);
  pcre2_code_free(code);
  return code != nullptr;
}

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
    if (ignores_case_ && is_ligature()) refuse("letters that are one in a ligature");
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
    // To Oniguruma an option holds for the alternatives behind it, too.
    if (next_is("(?i)") && at_ > 0 && pattern_.find('|', at_) != pattern_.npos) {
      refuse("'(?i)' before an alternative");
    }
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
    if (next_is("?") && text.find(',') == text.npos) refuse("'}?'");
  }

  void escape() {
    constexpr std::string_view kSame = "dDnrtfeaAz";
    const char c = at_ + 1 < pattern_.size() ? pattern_[at_ + 1] : '\0';
    const bool is_sign = static_cast<unsigned char>(c) < 0x80 && c > ' ' && std::isalnum(c) == 0;
    if (c == 's') return put_class(kSpace, "[");
    if (c == 'S') return put_class(kNoSpace, "[");
    if (c == 'w' && in_class_) return put_class(kWord, "");
    if (c == 'w') return put_class(std::string(kWord).append(kAlsoAlone), "[");
    if (c == 'W' && !in_class_) return put_class(std::string(kWord).append(kAlsoAlone), "[^");
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

  /// \p{Lu}. The name of a script alone means characters of several scripts to newer PCRE2, too.
  void property() {
    const std::size_t end = pattern_.find('}', at_);
    if (pattern_.substr(at_ + 2, 1) != "{" || end == pattern_.npos) refuse("this property");
    std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    const bool is_negated = name.starts_with('^');
    if (is_negated) name.remove_prefix(1);
    const std::string script = fmt::format("{{{}sc:{}}}", is_negated ? "^" : "", name);
    if (!is_regex("\\p" + script)) return copy(end + 1 - at_);
    copy(2);
    out_ += script;
    at_ = end + 1;
  }

  /// "ss" is one letter, too, where case does not count.
  bool is_ligature() const {
    if (at_ + 1 >= pattern_.size()) return false;
    const auto lower = [&](std::size_t at) {
      return static_cast<char>(std::tolower(static_cast<unsigned char>(pattern_[at])));
    };
    const std::string pair{lower(at_), lower(at_ + 1)};
    return pair == "ss" || pair == "st" || pair == "ff" || pair == "fi" || pair == "fl";
  }

  std::string_view pattern_;
  const std::string& place_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  bool ignores_case_ = pattern_.find("(?i") != pattern_.npos;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, const std::string& place) {
  return Translation(pattern, place).run();
}

}  // namespace meshwork::data
