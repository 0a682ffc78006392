#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "target.h"

namespace meshwork {

/// A change of the program of one device that leaves its results what they are, apart from the
/// order of sums: one file, one line in the list of registry.cpp. `fusion: {NAME: false}` in the
/// configuration switches it off. It decides by what is the same on all devices (ops, attributes,
/// global shapes), not by local extents: all must come to the same order of collectives.
struct RewriteDef {
  std::string_view name;
  /// Changes nodes where they stand. Every node of the program is read when it comes to it; those
  /// that nobody reads any more are removed behind it.
  void (*run)(Graph& program, const Target& target);
  /// Every op that it gives a node, but for collectives and copies of nodes that are there: a
  /// device that has no kernel for one goes without.
  std::vector<const OpDef*> makes = {};
};

/// All of them, in the order in which they are done.
const std::vector<const RewriteDef*>& rewrites();

namespace rewriting {
extern const RewriteDef kAttentionBlocks;
extern const RewriteDef kAttentionResults;
extern const RewriteDef kChannelMoments;
extern const RewriteDef kColumnSums;
extern const RewriteDef kCrossentropy;
extern const RewriteDef kEarlyParts;
extern const RewriteDef kEinsumBias;
extern const RewriteDef kFoldConstants;
extern const RewriteDef kJoinParts;
extern const RewriteDef kJoinProducts;
extern const RewriteDef kOverlapHalo;
extern const RewriteDef kPackExperts;
extern const RewriteDef kPadClasses;
extern const RewriteDef kRecompute;
extern const RewriteDef kScaledSum;
extern const RewriteDef kSmallGathers;
extern const RewriteDef kSmallScatters;
extern const RewriteDef kSplitK;
extern const RewriteDef kSumOfSquares;
extern const RewriteDef kWidePasses;
extern const RewriteDef kWideResults;
}  // namespace rewriting

}  // namespace meshwork
