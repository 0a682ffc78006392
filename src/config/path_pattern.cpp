#define PCRE2_CODE_UNIT_WIDTH 8
#include "config/path_pattern.h"

#include <pcre2.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/join.h"
#include "base/nearest.h"

namespace meshwork::config {
namespace {

constexpr std::uint32_t kMatchLimit = 1'000'000;  // backtracking steps before a pattern is refused
constexpr std::size_t kMostSubstituted = 10'000;  // bytes of a path

std::string pcre2_message(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// The pattern with '/' for every `\.`, with which DTensor's keys may separate the parts of a path.
std::string with_slashes(std::string text) {
  for (std::size_t at = text.find("\\."); at != std::string::npos; at = text.find("\\.", at)) {
    text.replace(at, 2, "/");
  }
  return text;
}

}  // namespace

struct PathPattern::Code {
  explicit Code(pcre2_code* compiled) : code(compiled) {}
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  pcre2_code* code;
};

PathPattern::PathPattern(std::string text, const Location& at, std::string key, Extent extent)
    : text_(std::move(text)), at_(at), key_(std::move(key)) {
  code_ = compile(text_, extent == Extent::kWhole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0);
}

std::shared_ptr<const PathPattern::Code> PathPattern::compile(const std::string& text,
                                                              unsigned options) const {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                   options | PCRE2_UTF, &error, &offset, nullptr);
  if (code == nullptr) {
    fail_at(at_, "{}: '{}' is not a regular expression: {} at character {}", key_, text,
            pcre2_message(error), offset + 1);
  }
  return std::make_shared<const Code>(code);
}

bool PathPattern::run(const Code& code, const std::string& path) const {
  const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> context(
      pcre2_match_context_create(nullptr), pcre2_match_context_free);
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create_from_pattern(code.code, nullptr), pcre2_match_data_free);
  pcre2_set_match_limit(context.get(), kMatchLimit);
  const int result = pcre2_match(code.code, reinterpret_cast<PCRE2_SPTR>(path.data()), path.size(),
                                 0, PCRE2_NO_JIT, data.get(), context.get());
  if (result >= 0) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  fail_at(at_, "{}: '{}' cannot be tried on '{}': {}; write a simpler pattern", key_, text_, path,
          pcre2_message(result));
}

bool PathPattern::matches(const std::string& path) const { return run(*code_, path); }

std::string PathPattern::substituted(const std::string& path, const std::string& text) const {
  const auto bytes = [](const std::string& t) { return reinterpret_cast<PCRE2_SPTR>(t.data()); };
  std::string result(kMostSubstituted, '\0');
  PCRE2_SIZE length = result.size();
  const int count =
      pcre2_substitute(code_->code, bytes(path), path.size(), 0,
                       PCRE2_NO_JIT | PCRE2_SUBSTITUTE_UNSET_EMPTY, nullptr, nullptr, bytes(text),
                       text.size(), reinterpret_cast<PCRE2_UCHAR*>(result.data()), &length);
  if (count < 0) {
    fail_at(at_, "{}: '{}' gives no '{}' of '{}': {}", key_, text_, text, path,
            pcre2_message(count));
  }
  MW_CHECK(count == 1, "'{}' does not match '{}'", text_, path);
  result.resize(length);
  return result;
}

std::string PathPattern::describe_unmatched(const std::vector<std::string>& paths,
                                            const std::string& nothing) const {
  const auto part = compile(text_, 0);
  std::vector<std::string> inside;
  for (const std::string& path : paths) {
    if (inside.size() < 3 && run(*part, path)) inside.push_back(fmt::format("'{}'", path));
  }
  if (!inside.empty()) {
    return fmt::format(
        "{}: '{}' matches no path; it would match a part of {} (Keras before 3.14 did "
        "that): write '.*{}.*' if you mean it",
        key_, text_, join(inside, ", "), text_);
  }
  if (const std::string slashed = with_slashes(text_); slashed != text_) {
    const auto code = compile(slashed, PCRE2_ANCHORED | PCRE2_ENDANCHORED);
    const bool hit = std::any_of(paths.begin(), paths.end(),
                                 [&](const std::string& path) { return run(*code, path); });
    if (hit) {
      return fmt::format(
          "{}: '{}' matches no path; here '/' separates its parts, not '.': write '{}'", key_,
          text_, slashed);
    }
  }
  return fmt::format("{}: '{}' matches {}{}", key_, text_, nothing, suggestion(text_, paths));
}

}  // namespace meshwork::config
