#pragma once

#include <string>
#include <vector>

#include "config/path_pattern.h"

namespace meshwork {

/// Regexes (PCRE2) that are searched for in the last part of a variable path, as Keras's
/// exclude_from_weight_decay does: "bias" hits "d1/bias", not "bias_layer/kernel".
class LeafPatterns {
 public:
  LeafPatterns() = default;

  /// Reads a pattern or a list of them; an Error with the place for one that is no regex, or asks
  /// for a '/'.
  explicit LeafPatterns(const config::Value& patterns);

  bool match(const std::string& path) const;

  /// For each pattern that matches none of `paths`: "c.yaml:1:35: exclude_from_weight_decay: 'bais'
  /// matches the name of no variable; nearest: 'bias'".
  std::vector<std::string> describe_unmatched(const std::vector<std::string>& paths) const;

 private:
  void add(const config::Value& pattern);

  std::vector<config::PathPattern> patterns_;
};

}  // namespace meshwork
