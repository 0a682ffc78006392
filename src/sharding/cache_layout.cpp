#include "sharding/cache_layout.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "graph/dim_rule.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

/// Finds the axes that shard a dimension where it comes from.
class Origins {
 public:
  Origins(const Graph& graph, const PinnedLayouts& pinned) : graph_(graph) {
    for (const auto& [value, layout] : pinned.values) layouts_[value] = &layout;
    for (std::size_t i = 0; i < pinned.variables.size(); ++i) {
      layouts_[graph.variables[i].value] = &pinned.variables[i].layout;
    }
  }

  /// Those of the first leaf that is sharded; {}: none is.
  std::vector<int> axes_of(ValueId value, std::size_t dim) {
    if (!seen_.insert({value, dim}).second) return {};
    const Node& node = graph_.node(value);
    if (is_leaf(node)) {
      const auto found = layouts_.find(value);
      return found == layouts_.end() ? std::vector<int>() : found->second->dims[dim];
    }
    const DimRule rule = rule_of(graph_, node);
    const int factor = DimRule::major_factor(rule.output, dim);
    if (factor < 0) return {};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int from = DimRule::dim_of(rule.inputs[i], factor);
      if (from < 0) continue;
      std::vector<int> axes = axes_of(node.inputs[i], static_cast<std::size_t>(from));
      if (!axes.empty()) return axes;
    }
    return {};
  }

 private:
  const Graph& graph_;
  std::map<ValueId, const Layout*> layouts_;
  std::set<std::pair<ValueId, std::size_t>> seen_;
};

/// What is written into a variable by rows.
ValueId rows_of(const Graph& graph, ValueId variable) {
  const auto update = std::ranges::find(graph.updates, variable, &Update::variable);
  MW_CHECK(update != graph.updates.end(), "cache %{} is never written", variable);
  return graph.node(update->value).inputs[1];
}

}  // namespace

Layout layout_of_cache(const Graph& graph, std::size_t variable, const PinnedLayouts& pinned) {
  const ValueId cache = graph.variables[variable].value;
  const ValueId rows = rows_of(graph, cache);
  Layout layout = replicated(graph.type(cache).shape.size());
  std::set<int> used;
  for (std::size_t d = 0; d < layout.dims.size(); ++d) {
    if (d == 1) continue;
    // An axis shards the first of the dimensions that have it.
    for (const int axis : Origins(graph, pinned).axes_of(rows, d)) {
      if (used.insert(axis).second) layout.dims[d].push_back(axis);
    }
  }
  return layout;
}

}  // namespace meshwork
