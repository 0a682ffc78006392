#pragma once

#include <vector>

#include "graph/graph.h"
#include "target.h"

namespace meshwork {

/// A local program in which nodes that can be computed in one pass stand together.
struct Fused {
  Graph program;         ///< the same nodes, in another order
  ValueMap<int> fusion;  ///< of each node; nodes of the same number follow each other
};

/// Joins elementwise nodes (graph/fusible.h) with those that they read, where both have the same
/// shape, are of the same phase, and nothing between them needs one and is needed by the other.
/// Sums of rows that are no longer than the target takes join what they add up, and with them what
/// is made of them, for a row or for each of its elements. A product of two matrices, large beside
/// a cache of the target, joins the update that alone reads it, if the second matrix is small: a
/// gradient is used as its rows are computed. So does, whatever it reads, the gradient of a table,
/// or it joins the sum with another gradient of this. Neither does where the target has no cache.
/// Where the target names ops that it computes together ("a+b" among its kernels), nodes of these
/// that read the same, but for the last operands of one, and do not differ in attributes are
/// joined, of whatever phase: the later ones are computed early. Where launching costs something
/// (Target::launch_bytes), constants that variables take anew join the pass that alone reads the
/// old value, and passes over one element, and constants of one that are outputs, join each other,
/// unless one of them would wait for what another needs. Passes take in the constants that
/// they read (plan/pass_constants.h).
Fused find_fusion_groups(Graph program, const Target& target);

}  // namespace meshwork
