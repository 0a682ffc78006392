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

LayoutRule read_rule(const Value::Entry& entry, const MeshSpec& mesh, const std::string& what) {
  if (!entry.value.is_list()) {
    fail_at(entry.value.at,
            "{} must be a list with null, an axis or a list of axes for each dimension, such as "
            "[null, {}], not {}",
            what, mesh.axes.back().first, describe(entry.value));
  }
  LayoutRule rule{entry.key, {}, entry.at};
  std::vector<std::string> used;
  for (const Value& dim : entry.value.list) {
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

}  // namespace

std::vector<LayoutRule> read_layout_rules(const Value* rules, const MeshSpec& mesh,
                                          std::string_view what) {
  if (rules == nullptr) return {};
  if (!rules->is_map()) {
    fail_at(rules->at, "{} must be a map of patterns and layouts, not {}", what, describe(*rules));
  }
  std::vector<LayoutRule> result;
  for (const Value::Entry& entry : rules->map) {
    if (entry.key.empty()) fail_at(entry.at, "{}: a pattern is empty", what);
    result.push_back(read_rule(entry, mesh, fmt::format("{}: '{}'", what, entry.key)));
  }
  return result;
}

}  // namespace meshwork::config
