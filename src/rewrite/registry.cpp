#include "rewrite/rewrite.h"

namespace meshwork {

/// What must stand behind others says behind which, and why. All others may change places: plans of
/// the models in configs/ stay what they are, but for a cast.
const std::vector<const RewriteDef*>& rewrites() {
  static const std::vector<const RewriteDef*> kRewrites{
      &rewriting::kFoldConstants,
      &rewriting::kPackExperts,
      &rewriting::kSmallScatters,
      &rewriting::kColumnSums,
      &rewriting::kJoinParts,
      &rewriting::kJoinProducts,
      // Takes apart the concatenations that join_parts makes whole, and those of column_sums.
      &rewriting::kEarlyParts,
      // The factor of its gradient is an attribute where fold_constants has made it one number.
      &rewriting::kCrossentropy,
      &rewriting::kWideResults,
      // Looks for the products that crossentropy reads.
      &rewriting::kPadClasses,
      &rewriting::kAttentionBlocks,
      &rewriting::kAttentionResults,
      // Where elementwise nodes follow a product its bias is theirs: crossentropy is none.
      &rewriting::kEinsumBias,
      // Makes sums of 16 bits, for which join_products and einsum_bias look, sums of float32
      // between casts. Of these casts wide_results would take away some, so that less were rounded
      // between layers.
      &rewriting::kWidePasses,
      &rewriting::kOverlapHalo,
      &rewriting::kSplitK,
      // Weighs the bytes of what is kept, of which wide_results and wide_passes choose the types,
      // and copies nodes of the passes that these make.
      &rewriting::kRecompute,
      &rewriting::kSumOfSquares,
      // Takes any sum times a number: of squares there shall be none left, or these are written.
      &rewriting::kScaledSum,
      // Looks for scaled_sum, and for sums that are read in parts alone, as early_parts leaves
      // them.
      &rewriting::kChannelMoments,
      &rewriting::kSmallGathers,
  };
  return kRewrites;
}

}  // namespace meshwork
