#include "optim/leaf_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace meshwork {
namespace {

/// The whole path where there is no '/'.
std::string leaf_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

LeafPatterns::LeafPatterns(const config::Value& patterns) {
  if (!patterns.is_list()) add(patterns);
  for (const config::Value& pattern : patterns.list) add(pattern);
}

void LeafPatterns::add(const config::Value& pattern) {
  const std::string key = "exclude_from_weight_decay";
  const std::string text = pattern.as_string(key);
  patterns_.emplace_back(text, pattern.at, key, config::PathPattern::Extent::kPart);
  // [^/] may well match.
  if (text.find('/') == std::string::npos || text.find('[') != std::string::npos) return;
  config::fail_at(pattern.at,
                  "{}: '{}' has a '/', and is searched for in the last part of a variable's path, "
                  "which has none, as in Keras; write that part, '{}'",
                  key, text, leaf_of(text));
}

bool LeafPatterns::match(const std::string& path) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const config::PathPattern& pattern) {
    return pattern.matches(leaf_of(path));
  });
}

std::vector<std::string> LeafPatterns::describe_unmatched(
    const std::vector<std::string>& paths) const {
  std::set<std::string> leaves;
  for (const std::string& path : paths) leaves.insert(leaf_of(path));
  std::vector<std::string> notes;
  for (const config::PathPattern& pattern : patterns_) {
    const bool hits = std::any_of(leaves.begin(), leaves.end(),
                                  [&](const std::string& leaf) { return pattern.matches(leaf); });
    if (hits) continue;
    notes.push_back(fmt::format(
        "{}: {}", config::to_string(pattern.at()),
        pattern.describe_unmatched({leaves.begin(), leaves.end()}, "the name of no variable")));
  }
  return notes;
}

}  // namespace meshwork
