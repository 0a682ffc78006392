#include <algorithm>

#include "ops/ops.h"

namespace meshwork::ops {

const std::vector<const OpDef*>& registry() {
  // Sorted by name.
  static const std::vector<const OpDef*> ops{
      &kAbs,
      &kAdd,
      &kAddPart,
      &kAllGather,
      &kAllReduce,
      &kAllToAll,
      &kArgMax,
      &kBroadcastTo,
      &kCast,
      &kConcatenate,
      &kConstant,
      &kConvolution,
      &kConvolutionInput,
      &kConvolutionKernel,
      &kCrossentropy,
      &kCrossentropyGradient,
      &kDivide,
      &kEinsum,
      &kEqual,
      &kErf,
      &kExp,
      &kFloor,
      &kGreater,
      &kGreaterEqual,
      &kHaloPack,
      &kHaloUnpack,
      &kIdentityMatrix,
      &kInput,
      &kIota,
      &kLog,
      &kLog1p,
      &kLogSoftmax,
      &kMaxPool,
      &kMaxPoolInput,
      &kMaximum,
      &kMinimum,
      &kMoments,
      &kMultiply,
      &kNegate,
      &kOneHot,
      &kOrthogonal,
      &kPack,
      &kPad,
      &kPick,
      &kPower,
      &kRandomNormal,
      &kRandomUniform,
      &kReduceMax,
      &kReduceScatter,
      &kReduceSum,
      &kRelu,
      &kReshape,
      &kScaleOffset,
      &kScaleOffsetSums,
      &kSelect,
      &kSigmoid,
      &kSign,
      &kSlice,
      &kSoftmax,
      &kSoftplus,
      &kSparsemax,
      &kSqrt,
      &kSquare,
      &kSubtract,
      &kSumPool,
      &kSumPoolInput,
      &kTanh,
      &kTranspose,
      &kTruncatedNormal,
      &kUnpack,
      &kVariable,
  };
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
