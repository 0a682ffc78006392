#include <algorithm>

#include "ops/ops.h"

namespace meshwork::ops {
namespace {

/// With the elementwise ones, by name.
std::vector<const OpDef*> sorted(std::vector<const OpDef*> ops) {
  for (const OpDef& op : elementwise::kOps) ops.push_back(&op);
  std::sort(ops.begin(), ops.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return ops;
}

}  // namespace

const std::vector<const OpDef*>& registry() {
  static const std::vector<const OpDef*> ops = sorted({
      &kAddPart,
      &kAllGather,
      &kAllReduce,
      &kAllToAll,
      &kArgMax,
      &kAssignSlots,
      &kAttention,
      &kAttentionKeyGradient,
      &kAttentionLogSum,
      &kAttentionQueryGradient,
      &kAttentionValueGradient,
      &kBroadcastTo,
      &kCast,
      &kChannelMoments,
      &kCombine,
      &kConcatenate,
      &kConstant,
      &kConvert,
      &kConvolution,
      &kConvolutionBackwardData,
      &kConvolutionBackwardFilter,
      &kCrossentropy,
      &kCrossentropyGradient,
      &kDispatch,
      &kEinsum,
      &kEinsumBias,
      &kEmbedding,
      &kEmbeddingGradient,
      &kHaloPack,
      &kHaloUnpack,
      &kIdentityMatrix,
      &kInput,
      &kIota,
      &kLogSoftmax,
      &kMaxPool,
      &kMaxPoolInput,
      &kOneHot,
      &kOrthogonal,
      &kPack,
      &kPackChosen,
      &kPackedEinsum,
      &kPad,
      &kRandomNormal,
      &kRandomUniform,
      &kReduceMax,
      &kReduceScatter,
      &kReduceSum,
      &kReshape,
      &kRotary,
      &kSamples,
      &kScaleOffset,
      &kScaleOffsetSums,
      &kScaledSum,
      &kShiftedSums,
      &kSlice,
      &kSoftmax,
      &kSparseEinsum,
      &kSparsemax,
      &kSumOfSquares,
      &kSumPool,
      &kSumPoolInput,
      &kTakeAlongAxis,
      &kTakeRows,
      &kTranspose,
      &kTransposeBlocks,
      &kTruncatedNormal,
      &kUnpack,
      &kUnpackChosen,
      &kVariable,
      &kWriteRows,
  });
  return ops;
}

const OpDef* find(std::string_view name) {
  const auto& ops = registry();
  const auto found =
      std::lower_bound(ops.begin(), ops.end(), name,
                       [](const OpDef* op, std::string_view n) { return op->name < n; });
  return found != ops.end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace meshwork::ops
