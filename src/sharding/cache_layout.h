#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sharding/layout_map.h"

namespace meshwork {

/// Lays out the caches of a graph for which no rule does: each dimension is sharded like that of
/// the variable or input that the rows written into it have it from, found by the dimension rules
/// of the ops between. So heads lie where the kernels of keys and values have them. The dimension
/// of places is whole.
class CacheLayouts {
 public:
  /// `pinned` has the inputs; it outlives this.
  CacheLayouts(const Graph& graph, const PinnedLayouts& pinned);

  /// That of `graph.variables[variable]`, when `pinned` has the variables before it, among which
  /// are all that its rows come from.
  Layout of(std::size_t variable);

 private:
  const std::vector<int>& axes_of(ValueId value, std::size_t dim);
  std::vector<int> find_axes(ValueId value, std::size_t dim);
  std::vector<int> axes_of_leaf(ValueId leaf, std::size_t dim) const;

  const Graph& graph_;
  const PinnedLayouts& pinned_;
  std::map<ValueId, const Layout*> inputs_;
  std::map<ValueId, std::size_t> variables_;  ///< places in the graph's list
  /// Axes of the first sharded leaf that a dimension of a value comes from; {}: there is none.
  std::map<std::pair<ValueId, std::size_t>, std::vector<int>> found_;
};

}  // namespace meshwork
