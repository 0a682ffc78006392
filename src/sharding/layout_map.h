#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/path_pattern.h"
#include "graph/graph.h"
#include "sharding/layout.h"

namespace meshwork {

/// The rule that lays out a path, and the layout it gives.
struct LayoutMatch {
  std::optional<config::LayoutRule> rule;  ///< none: no rule hit, the tensor is replicated
  Layout layout;
};

/// Regexes over paths (Keras 3.14: an exact key first, else every key as a pattern that must match
/// the whole path). Two patterns that hit one path are an Error that lists both.
class LayoutMap {
 public:
  /// Compiles the patterns (PCRE2); a bad one is an Error with its place. `key` names the map.
  LayoutMap(const std::vector<config::LayoutRule>& rules, std::string key);

  /// Layout of the tensor at `path`; a rule with too many entries is an Error.
  LayoutMatch find(const std::string& path, std::size_t rank, const Mesh& mesh) const;

  /// Throws an Error for a rule that hits none of `paths`: names the nearest, and says so where it
  /// would hit as a substring.
  void check_all_hit(const std::vector<std::string>& paths) const;

 private:
  struct Pattern {
    config::LayoutRule rule;
    config::PathPattern whole;
  };
  std::vector<Pattern> patterns_;
  std::string key_;
};

/// The layout that a rule gives to `path`; too many entries are an Error. `what` names the rule.
LayoutMatch layout_of(const config::LayoutRule& rule, const std::string& what,
                      const std::string& path, std::size_t rank, const Mesh& mesh);

/// What the user asked for, applied to a program: the layouts that propagation never moves.
struct PinnedLayouts {
  std::vector<LayoutMatch> variables;              ///< of graph.variables, in order
  std::vector<std::pair<ValueId, Layout>> values;  ///< inputs and `<layer>/output` keys
  /// The rules among these, by the name of the layer output that they hit.
  std::vector<std::pair<std::string, config::LayoutRule>> output_rules;
};

/// Lays out the variables, inputs and named outputs of a program: the batch dimension of every
/// input over the batch axis, variables and outputs by the layout map, optimizer slots as their
/// variable or by `optimizer_layout`, gradients as the state of the optimizer. Inputs are the nodes
/// of op `input` that are no scalars.
PinnedLayouts pin_layouts(const Graph& graph, const config::Config& config, const Mesh& mesh);

/// Throws an Error for a rule of either map that lays out nothing in a program.
void check_rules_hit(const Graph& graph, const config::Config& config);

}  // namespace meshwork
