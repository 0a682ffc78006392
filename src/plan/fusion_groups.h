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

/// Finds the nodes that are computed together. Two are, unless a node between them needs one and is
/// needed by the other:
/// - An elementwise node (graph/fusible.h) and one that it reads, of the same shape and phase. This
///   is a pass. Sums of its rows belong to it, too, if rows are no longer than the target takes,
///   and what is made of these sums for a row or for each of its elements.
/// - A sum of columns and a pass over what it adds up, where the target keeps such sums.
/// - An update and the product of two matrices that it alone reads, if the product is large beside
///   a cache of the target, and the second matrix small: a gradient is used as its rows are
///   computed. Where the target has no cache, this one and the next are not done.
/// - The gradient of a table and what alone reads it: the update, or the sum with another gradient
///   of this table.
/// - Ops that the target computes together (Target::siblings), where they read the same, but for
///   the last operands of one, and do not differ in attributes. Of different phases, too: the later
///   ones are computed early.
/// - Where launching costs something (Target::launch_bytes), a pass that alone reads the old value
///   of a variable and the constant that the variable takes anew.
/// - Where launching costs something, passes over one element, and constants of one that are
///   outputs, whatever they read, unless one of them would wait for what another needs.
/// At the end passes take in the constants that they read (plan/pass_constants.h).
Fused find_fusion_groups(Graph program, const Target& target);

}  // namespace meshwork
