#include <algorithm>

#include "config/sections.h"

namespace meshwork::config {
namespace {

std::vector<std::string> read_entry(const Value& entry, const MeshSpec& mesh,
                                    const std::string& what) {
  if (entry.is_null()) return {};
  if (entry.is_map()) {
    fail_at(entry.at, "{}: an entry must be null, an axis or a list of axes, not a map", what);
  }
  return read_axes(entry, mesh, what);
}

}  // namespace

LayoutRule read_layout(const Value& layout, const std::string& pattern, const Location& at,
                       const MeshSpec& mesh, const std::string& what) {
  if (!layout.is_list()) {
    fail_at(layout.at,
            "{} must be a list with null, an axis or a list of axes for each dimension, such as "
            "[null, {}], not {}",
            what, mesh.axes.back().first, describe(layout));
  }
  LayoutRule rule{pattern, {}, at};
  std::vector<std::string> used;
  for (const Value& dim : layout.list) {
    rule.dims.push_back(read_entry(dim, mesh, what));
    for (const std::string& axis : rule.dims.back()) {
      if (std::find(used.begin(), used.end(), axis) != used.end()) {
        fail_at(dim.at, "{}: axis '{}' is used twice; it can shard one dimension only", what, axis);
      }
      used.push_back(axis);
    }
  }
  return rule;
}

std::vector<LayoutRule> read_layout_rules(const Value* rules, const MeshSpec& mesh,
                                          std::string_view what) {
  if (rules == nullptr) return {};
  if (!rules->is_map()) {
    fail_at(rules->at, "{} must be a map of patterns and layouts, not {}", what, describe(*rules));
  }
  std::vector<LayoutRule> result;
  for (const Value::Entry& entry : rules->map) {
    if (entry.key.empty()) fail_at(entry.at, "{}: a pattern is empty", what);
    result.push_back(read_layout(entry.value, entry.key, entry.at, mesh,
                                 fmt::format("{}: '{}'", what, entry.key)));
  }
  return result;
}

}  // namespace meshwork::config
