#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/path_pattern.h"
#include "graph/graph.h"

namespace meshwork {

/// The rules of `freeze`: regular expressions over the paths of variables, layers and blocks. One
/// that matches a layer or block ("stem", or all that stands in it, "stem/.*") freezes it as
/// `trainable: false` does; one that matches a variable ("stem/conv/kernel", ".*/bias") only that.
class FreezeRules {
 public:
  /// A pattern that is no regular expression is an Error with its place.
  explicit FreezeRules(const std::vector<config::PathRule>& rules);

  /// Whether a rule matches this layer, or a block around it.
  bool freezes_layer(const std::string& path) const;
  /// Whether a rule matches this variable itself.
  bool freezes_variable(const std::string& path) const;

  /// Throws an Error, with the nearest path, for a rule that matches no layer, block and variable.
  void check_all_hit(const config::ModelSpec& model, const Graph& graph) const;

 private:
  std::vector<config::PathPattern> rules_;
};

}  // namespace meshwork
