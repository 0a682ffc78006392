#pragma once

#include <vector>

#include "graph/dim_rule.h"
#include "sharding/propagate.h"

namespace meshwork {

/// How one op uses one mesh axis.
struct AxisUse {
  enum class Kind {
    kNone,    ///< all devices along the axis compute the same
    kFactor,  ///< each computes its part of a factor of the rule
    kPass,    ///< operands that are partial along the axis stay so, and so is the result
  };
  Kind kind = Kind::kNone;
  int factor = -1;      ///< of the rule, for kFactor
  int settle_dim = -1;  ///< kFactor: afterwards the axis moves to this dimension of the result
  bool operator==(const AxisUse&) const = default;
};

/// One operand of a node when its layout is chosen.
struct Operand {
  bool any_layout = false;
  /// The layout it is kept in, then those in which it has been wanted before and still is there.
  std::vector<Layout> available;

  const Layout& kept() const { return available.front(); }
};

/// What is known around a node when its layout is chosen.
struct Site {
  const Graph& graph;
  const Node& node;
  const DimRule& rule;
  std::vector<Operand> inputs;
  const Layout* pin = nullptr;
  const Mesh& mesh;
  /// Of the forward value whose gradient the result is: it shards what no operand has.
  const Layout* like = nullptr;
  /// The result may cost more to add up over devices than the operands to gather, and no more work.
  bool may_gather = false;
};

/// The halo that operand `i` of a node, of `shape`, must have along `dim` where `axes` shard it;
/// empty where its blocks are enough.
std::vector<Interval> operand_halo(const DimRule& rule, std::size_t i, std::size_t dim,
                                   const Shape& shape, const std::vector<int>& axes,
                                   const Mesh& mesh);

/// What each axis may do at a node, in order of preference.
std::vector<std::vector<AxisUse>> axis_choices(const Site& site);

/// The layouts that follow from the use of every axis; false if they are not legal.
bool lay_out(const Site& site, const std::vector<AxisUse>& uses, NodeLayout& result);

}  // namespace meshwork
