#pragma once

#include <map>
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

  /// Notes, each with its place, about rules that hit none of `paths`: those that would hit one of
  /// `absent` (paths, and why the model leaves them out; "" where only a program of it does, which
  /// is no note), and others where `unmatched` is kWarn. Where it is kError these are an Error,
  /// which names the nearest path, absent or not, and what they would hit as a substring.
  std::vector<std::string> check_all_hit(
      const std::vector<std::string>& paths, const std::map<std::string, std::string>& absent = {},
      config::UnmatchedRules unmatched = config::UnmatchedRules::kError) const;

 private:
  struct Pattern {
    config::LayoutRule rule;
    config::PathPattern whole;
  };
  std::vector<Pattern> patterns_;
  std::string key_;
};

/// The note that the rule `what` lays out nothing, because the model leaves out `paths` (each with
/// the argument that does): "c.yaml:7:3: layout_map: 'd1/bias' lays out nothing: the model leaves
/// out 'd1/bias' (use_bias: false)".
std::string note_left_out(const config::Location& at, const std::string& what,
                          const std::map<std::string, std::string>& paths);

/// The entries of a rule as a file has them: "[null, [data, model]]".
std::string show_entries(const config::LayoutRule& rule);

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

/// Notes about rules of either map, and of layers, that lay out nothing in a program, as of
/// check_all_hit(); throws its Error. `absent`: the variables and outputs that layers would have if
/// the model were otherwise, and what leaves them out.
std::vector<std::string> check_rules_hit(const Graph& graph, const config::Config& config,
                                         const std::map<std::string, std::string>& absent = {});

}  // namespace meshwork
