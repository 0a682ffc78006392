#include <algorithm>

#include "ops/ops.h"

namespace meshwork::ops {

const std::vector<const OpDef*>& registry() {
  // Sorted by name.
  static const std::vector<const OpDef*> ops{
      &kAbs,
      &kAdd,
      &kAllGather,
      &kAllReduce,
      &kAllToAll,
      &kArgMax,
      &kBroadcastTo,
      &kCast,
      &kConcatenate,
      &kConstant,
      &kDivide,
      &kEinsum,
      &kEqual,
      &kErf,
      &kExp,
      &kFloor,
      &kGreater,
      &kGreaterEqual,
      &kIdentityMatrix,
      &kInput,
      &kIota,
      &kLog,
      &kLog1p,
      &kLogSoftmax,
      &kMaximum,
      &kMinimum,
      &kMultiply,
      &kNegate,
      &kOneHot,
      &kOrthogonal,
      &kPack,
      &kPick,
      &kPower,
      &kRandomNormal,
      &kRandomUniform,
      &kReduceMax,
      &kReduceScatter,
      &kReduceSum,
      &kRelu,
      &kReshape,
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
