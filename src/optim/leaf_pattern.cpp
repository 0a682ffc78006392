#include "optim/leaf_pattern.h"

#include <algorithm>

namespace meshwork {

LeafPatterns::LeafPatterns(const config::Value& patterns) {
  if (!patterns.is_list()) add(patterns);
  for (const config::Value& pattern : patterns.list) add(pattern);
}

void LeafPatterns::add(const config::Value& pattern) {
  const std::string key = "exclude_from_weight_decay";
  patterns_.emplace_back(pattern.as_string(key), pattern.at, key,
                         config::PathPattern::Extent::kPart);
}

bool LeafPatterns::match(const std::string& path) const {
  const std::string leaf = path.substr(path.rfind('/') + 1);  // the whole path without a '/'
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const config::PathPattern& pattern) { return pattern.matches(leaf); });
}

}  // namespace meshwork
