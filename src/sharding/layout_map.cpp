#define PCRE2_CODE_UNIT_WIDTH 8
#include "sharding/layout_map.h"

#include <fmt/ranges.h>
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/nearest.h"

namespace meshwork {
namespace {

constexpr std::uint32_t kMatchLimit = 1'000'000;  // backtracking steps before a pattern is refused

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
using Code = std::unique_ptr<pcre2_code, CodeDeleter>;

std::string pcre2_message(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

Code compile(const config::LayoutRule& rule, const std::string& key, std::uint32_t options) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rule.pattern.data()), rule.pattern.size(),
                          options | PCRE2_UTF, &error, &offset, nullptr));
  if (code == nullptr) {
    config::fail_at(rule.at, "{}: '{}' is not a regular expression: {} at character {}", key,
                    rule.pattern, pcre2_message(error), offset + 1);
  }
  return code;
}

bool matches(const Code& code, const config::LayoutRule& rule, const std::string& key,
             const std::string& path) {
  const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> context(
      pcre2_match_context_create(nullptr), pcre2_match_context_free);
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create_from_pattern(code.get(), nullptr), pcre2_match_data_free);
  pcre2_set_match_limit(context.get(), kMatchLimit);
  const int result = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(path.data()), path.size(),
                                 0, PCRE2_NO_JIT, data.get(), context.get());
  if (result >= 0) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  config::fail_at(rule.at, "{}: '{}' cannot be tried on '{}': {}; write a simpler pattern", key,
                  rule.pattern, path, pcre2_message(result));
}

std::string entries(const config::LayoutRule& rule) {
  std::vector<std::string> dims;
  for (const auto& axes : rule.dims) {
    dims.push_back(axes.empty()       ? "null"
                   : axes.size() == 1 ? axes.front()
                                      : fmt::format("[{}]", fmt::join(axes, ", ")));
  }
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

}  // namespace

struct LayoutMap::Pattern {
  config::LayoutRule rule;
  Code whole;  ///< must match the whole path
};

LayoutMap::~LayoutMap() = default;
LayoutMap::LayoutMap(LayoutMap&&) noexcept = default;
LayoutMap& LayoutMap::operator=(LayoutMap&&) noexcept = default;

LayoutMap::LayoutMap(const std::vector<config::LayoutRule>& rules, std::string key)
    : key_(std::move(key)) {
  for (const config::LayoutRule& rule : rules) {
    patterns_.push_back({rule, compile(rule, key_, PCRE2_ANCHORED | PCRE2_ENDANCHORED)});
  }
}

LayoutMatch LayoutMap::find(const std::string& path, std::size_t rank, const Mesh& mesh) const {
  std::vector<const config::LayoutRule*> hits;
  for (const Pattern& pattern : patterns_) {
    if (pattern.rule.pattern == path) {
      hits = {&pattern.rule};
      break;
    }
    if (matches(pattern.whole, pattern.rule, key_, path)) hits.push_back(&pattern.rule);
  }
  if (hits.empty()) return {std::nullopt, replicated(rank)};
  if (hits.size() > 1) {
    std::vector<std::string> quoted;
    for (const auto* hit : hits) {
      const config::Location& at = hit->at;
      const std::string place = at.line > 0 ? fmt::format("line {}", at.line) : "command line";
      quoted.push_back(fmt::format("'{}' ({})", hit->pattern, place));
    }
    config::fail_at(
        hits[1]->at,
        "{}: '{}' is hit by {} rules: {}; narrow them, or write the path itself as a key", key_,
        path, hits.size(), fmt::join(quoted, ", "));
  }

  const config::LayoutRule& rule = *hits.front();
  if (rule.dims.size() > rank) {
    config::fail_at(rule.at, "{}: '{}' gives {} {} {} to '{}', which has {} {}", key_, rule.pattern,
                    rule.dims.size(), rule.dims.size() == 1 ? "entry" : "entries", entries(rule),
                    path, rank, rank == 1 ? "dimension" : "dimensions");
  }
  Layout layout = replicated(rank);
  for (std::size_t d = 0; d < rule.dims.size(); ++d) {
    for (const std::string& name : rule.dims[d]) {
      const int axis = mesh.axis(name);
      MW_CHECK(axis >= 0, "axis '{}'", name);
      // An axis of one device shards nothing.
      if (mesh.sizes[static_cast<std::size_t>(axis)] > 1) layout.dims[d].push_back(axis);
    }
  }
  return {rule, std::move(layout)};
}

void LayoutMap::check_all_hit(const std::vector<std::string>& paths) const {
  for (const Pattern& pattern : patterns_) {
    const config::LayoutRule& rule = pattern.rule;
    const bool hit = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      return rule.pattern == path || matches(pattern.whole, rule, key_, path);
    });
    if (hit) continue;
    const Code part = compile(rule, key_, 0);
    std::vector<std::string> inside;
    for (const std::string& path : paths) {
      if (inside.size() < 3 && matches(part, rule, key_, path)) {
        inside.push_back(fmt::format("'{}'", path));
      }
    }
    if (!inside.empty()) {
      config::fail_at(
          rule.at,
          "{}: '{}' matches no path; it would match a part of {} (Keras before 3.14 did "
          "that): write '.*{}.*' if you mean it",
          key_, rule.pattern, fmt::join(inside, ", "), rule.pattern);
    }
    config::fail_at(rule.at, "{}: '{}' matches no variable and no layer output{}", key_,
                    rule.pattern, suggestion(rule.pattern, paths));
  }
}

}  // namespace meshwork
