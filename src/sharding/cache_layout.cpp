#include "sharding/cache_layout.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "graph/dim_rule.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

/// What is written into a variable by rows.
ValueId rows_of(const Graph& graph, ValueId variable) {
  const auto update = std::ranges::find(graph.updates, variable, &Update::variable);
  MW_CHECK(update != graph.updates.end(), "cache %{} is never written", variable);
  return graph.node(update->value).inputs[1];
}

}  // namespace

CacheLayouts::CacheLayouts(const Graph& graph, const PinnedLayouts& pinned)
    : graph_(graph), pinned_(pinned) {
  for (const auto& [value, layout] : pinned.values) inputs_[value] = &layout;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) variables_[graph.variables[i].value] = i;
}

Layout CacheLayouts::of(std::size_t variable) {
  const ValueId cache = graph_.variables[variable].value;
  const ValueId rows = rows_of(graph_, cache);
  Layout layout = replicated(graph_.type(cache).shape.size());
  std::set<int> used;
  for (std::size_t d = 0; d < layout.dims.size(); ++d) {
    if (d == 1) continue;
    // An axis shards the first of the dimensions that have it.
    for (const int axis : axes_of(rows, d)) {
      if (used.insert(axis).second) layout.dims[d].push_back(axis);
    }
  }
  return layout;
}

const std::vector<int>& CacheLayouts::axes_of(ValueId value, std::size_t dim) {
  const std::pair key{value, dim};
  const auto known = found_.find(key);
  if (known != found_.end()) return known->second;
  return found_[key] = find_axes(value, dim);
}

std::vector<int> CacheLayouts::find_axes(ValueId value, std::size_t dim) {
  const Node& node = graph_.node(value);
  if (is_leaf(node)) return axes_of_leaf(value, dim);
  const DimRule rule = rule_of(graph_, node);
  const int factor = DimRule::major_factor(rule.output, dim);
  if (factor < 0) return {};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const int from = DimRule::dim_of(rule.inputs[i], factor);
    if (from < 0) continue;
    const std::vector<int>& axes = axes_of(node.inputs[i], static_cast<std::size_t>(from));
    if (!axes.empty()) return axes;
  }
  return {};
}

std::vector<int> CacheLayouts::axes_of_leaf(ValueId leaf, std::size_t dim) const {
  const auto variable = variables_.find(leaf);
  if (variable != variables_.end()) {
    return variable->second < pinned_.variables.size()
               ? pinned_.variables[variable->second].layout.dims[dim]
               : std::vector<int>();
  }
  const auto input = inputs_.find(leaf);
  return input != inputs_.end() ? input->second->dims[dim] : std::vector<int>();
}

}  // namespace meshwork
