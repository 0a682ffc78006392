#include "sharding/layout_map.h"

#include <algorithm>

#include "base/check.h"
#include "base/join.h"

namespace meshwork {

std::string show_entries(const config::LayoutRule& rule) {
  std::vector<std::string> dims;
  for (const auto& axes : rule.dims) dims.push_back(entry_text(axes));
  return fmt::format("[{}]", join(dims, ", "));
}

LayoutMap::LayoutMap(const std::vector<config::LayoutRule>& rules, std::string key)
    : key_(std::move(key)) {
  for (const config::LayoutRule& rule : rules) {
    patterns_.push_back({rule, config::PathPattern(rule.pattern, rule.at, key_)});
  }
}

LayoutMatch LayoutMap::find(const std::string& path, std::size_t rank, const Mesh& mesh) const {
  std::vector<const config::LayoutRule*> hits;
  for (const Pattern& pattern : patterns_) {
    if (pattern.rule.pattern == path) {
      hits = {&pattern.rule};
      break;
    }
    if (pattern.whole.matches(path)) hits.push_back(&pattern.rule);
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
        path, hits.size(), join(quoted, ", "));
  }

  return layout_of(*hits.front(), fmt::format("{}: '{}'", key_, hits.front()->pattern), path, rank,
                   mesh);
}

std::vector<std::string> LayoutMap::check_all_hit(const std::vector<std::string>& paths,
                                                  const std::map<std::string, std::string>& absent,
                                                  config::UnmatchedRules unmatched) const {
  std::vector<std::string> notes;
  for (const Pattern& pattern : patterns_) {
    const config::LayoutRule& rule = pattern.rule;
    const auto hits = [&](const std::string& path) {
      return rule.pattern == path || pattern.whole.matches(path);
    };
    if (std::any_of(paths.begin(), paths.end(), hits)) continue;
    std::map<std::string, std::string> left_out;
    bool is_elsewhere = false;
    for (const auto& [path, why] : absent) {
      if (!hits(path)) continue;
      if (why.empty()) is_elsewhere = true;
      left_out.emplace(path, why);
    }
    if (is_elsewhere) continue;
    if (!left_out.empty()) {
      notes.push_back(
          note_left_out(rule.at, fmt::format("{}: '{}'", key_, rule.pattern), left_out));
    } else if (unmatched != config::UnmatchedRules::kIgnore) {
      std::vector<std::string> known = paths;
      for (const auto& [path, why] : absent) known.push_back(path);
      const std::string problem =
          pattern.whole.describe_unmatched(known, "no variable and no layer output");
      if (unmatched == config::UnmatchedRules::kError) config::fail_at(rule.at, "{}", problem);
      notes.push_back(config::to_string(rule.at) + ": " + problem);
    }
  }
  return notes;
}

std::string note_left_out(const config::Location& at, const std::string& what,
                          const std::map<std::string, std::string>& paths) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown;
  for (const auto& [path, why] : paths) {
    if (shown.size() < kShown) shown.push_back(fmt::format("'{}' ({})", path, why));
  }
  const std::size_t more = paths.size() - shown.size();
  return fmt::format("{}: {} lays out nothing: the model leaves out {}{}", config::to_string(at),
                     what, join(shown, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

LayoutMatch layout_of(const config::LayoutRule& rule, const std::string& what,
                      const std::string& path, std::size_t rank, const Mesh& mesh) {
  if (rule.dims.size() > rank) {
    config::fail_at(rule.at, "{} gives {} {} {} to '{}', which has {} {}", what, rule.dims.size(),
                    rule.dims.size() == 1 ? "entry" : "entries", show_entries(rule), path, rank,
                    rank == 1 ? "dimension" : "dimensions");
  }
  Layout layout = replicated(rank);
  for (std::size_t d = 0; d < rule.dims.size(); ++d) {
    for (const std::string& name : rule.dims[d]) {
      const std::vector<int> axes = mesh.parts_of(name);
      MW_CHECK(!axes.empty(), "axis '{}'", name);
      // An axis of one device shards nothing.
      for (const int axis : axes) {
        if (mesh.sizes[static_cast<std::size_t>(axis)] > 1) layout.dims[d].push_back(axis);
      }
    }
  }
  return {rule, std::move(layout)};
}

}  // namespace meshwork
