#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/tokenizer/pattern.h"

#include <pcre2.h>

#include <array>
#include <memory>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "data/tokenizer/regex_syntax.h"
#include "data/tokenizer/unicode.h"

namespace meshwork::data {
namespace {

std::string pcre2_message(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;

class Regex {
 public:
  Regex(const std::string& pattern, const std::string& place) : pattern_(pattern), place_(place) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    const std::string ours = to_pcre2(pattern, place);
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(ours.data()), ours.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr));
    if (code_ == nullptr) {
      fail(ExitCode::kFile, "{}: '{}' is not a regular expression: {}", place, excerpt(pattern),
           pcre2_message(error));
    }
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
  }

  void operator()(std::string_view text, const SegmentSink& sink) const {
    const MatchData data(pcre2_match_data_create_from_pattern(code_.get(), nullptr),
                         pcre2_match_data_free);
    if (text.empty()) return;
    std::size_t done = 0, from = 0;
    while (from <= text.size() && find(text, from, data.get())) {
      const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(data.get());
      const std::size_t begin = ends[0], end = ends[1];
      // An empty match right behind another one is none.
      if (begin < end || begin > done || done == 0) {
        if (begin > done) sink({text.substr(done, begin - done), false});
        sink({text.substr(begin, end - begin), true});
        done = end;
      }
      from = begin < end ? end : end + character_size(text, end);
    }
    if (done < text.size()) sink({text.substr(done), false});
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  };

  static std::size_t character_size(std::string_view text, std::size_t at) {
    std::size_t size = 1;
    while (at + size < text.size() && continues_character(text[at + size])) ++size;
    return size;
  }

  bool find(std::string_view text, std::size_t from, pcre2_match_data* data) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    const auto run = [&](std::uint32_t options) {
      return pcre2_match(code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK | options,
                         data, nullptr);
    };
    int result = run(0);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);
    if (result >= 0) return true;
    if (result == PCRE2_ERROR_NOMATCH) return false;
    fail(ExitCode::kFile, "{}: '{}' cannot be tried on a text: {}; write a simpler pattern", place_,
         excerpt(pattern_), pcre2_message(result));
  }

  std::string pattern_;
  std::string place_;
  std::unique_ptr<pcre2_code, Free> code_;
};

}  // namespace

Segments each_character(bool (*is_match)(char32_t)) {
  return [is_match](std::string_view text, const SegmentSink& sink) {
    std::size_t done = 0;
    for_characters(text, [&](char32_t c, std::string_view bytes) {
      if (!is_match(c)) return;
      const auto at = static_cast<std::size_t>(bytes.data() - text.data());
      if (at > done) sink({text.substr(done, at - done), false});
      sink({bytes, true});
      done = at + bytes.size();
    });
    if (done < text.size()) sink({text.substr(done), false});
  };
}

Segments each_literal(std::string bytes) {
  return [bytes = std::move(bytes)](std::string_view text, const SegmentSink& sink) {
    while (!text.empty()) {
      const std::size_t at = text.find(bytes);
      if (at > 0) sink({text.substr(0, at), false});
      if (at == std::string_view::npos) return;
      sink({text.substr(at, bytes.size()), true});
      text.remove_prefix(at + bytes.size());
    }
  };
}

Segments each_regex(const std::string& pattern, const std::string& place) {
  const auto regex = std::make_shared<const Regex>(pattern, place);
  return [regex](std::string_view text, const SegmentSink& sink) { (*regex)(text, sink); };
}

Segments read_pattern(JsonReader& reader, std::string_view key) {
  JsonReader pattern = reader.object(key);
  if (pattern.find("Regex") != nullptr) {
    Segments regex = each_regex(pattern.text("Regex"), pattern.place_of("Regex"));
    pattern.finish();
    return regex;
  }
  std::string bytes = pattern.text("String");
  if (bytes.empty()) pattern.fail_at("String", "is empty; give it one character or more");
  pattern.finish();
  return each_literal(std::move(bytes));
}

void check_growth(std::string_view what, std::size_t before, std::size_t after) {
  constexpr std::size_t kMost = 1000;
  if (after <= kMost * (before + kMost)) return;
  fail(ExitCode::kFile, "the {} of the tokenizer makes {} bytes of {}; look at what it puts in",
       what, after, before);
}

std::function<std::string(std::string_view)> replacing(Segments segments, std::string content) {
  return [segments = std::move(segments), content = std::move(content)](std::string_view text) {
    std::string out;
    out.reserve(text.size());
    segments(text,
             [&](const Segment& s) { out += s.is_match ? std::string_view(content) : s.text; });
    return out;
  };
}

}  // namespace meshwork::data
