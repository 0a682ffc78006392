#include "rewrite/rewrite.h"

namespace meshwork {

const std::vector<const RewriteDef*>& rewrites() {
  static const std::vector<const RewriteDef*> kRewrites{
      &rewriting::kFoldConstants,   &rewriting::kSmallScatters,    &rewriting::kColumnSums,
      &rewriting::kJoinParts,       &rewriting::kJoinProducts,     &rewriting::kEarlyParts,
      &rewriting::kCrossentropy,    &rewriting::kWideResults,      &rewriting::kPadClasses,
      &rewriting::kAttentionBlocks, &rewriting::kAttentionResults, &rewriting::kEinsumBias,
      &rewriting::kWidePasses,      &rewriting::kOverlapHalo,      &rewriting::kSplitK,
      &rewriting::kRecompute,       &rewriting::kSumOfSquares,     &rewriting::kScaledSum,
      &rewriting::kChannelMoments,  &rewriting::kSmallGathers,
  };
  return kRewrites;
}

}  // namespace meshwork
