#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "elementwise/all.h"
#include "graph/builder.h"

namespace meshwork::ops {

// Leaves. Types come from the attributes.
extern const OpDef kInput;     // {name, dtype, shape}
extern const OpDef kSamples;   // {name, dtype, shape}: all that is stored of a field of the data
extern const OpDef kVariable;  // {path, dtype, shape}
extern const OpDef kConstant;  // {value, dtype, shape}: one number everywhere
extern const OpDef kRandomUniform;    // {key, low, high, shape}, () or (step): counter-based
extern const OpDef kRandomNormal;     // {key, mean, stddev, shape}
extern const OpDef kTruncatedNormal;  // {key, mean, stddev, shape}
extern const OpDef kIdentityMatrix;   // {gain, shape}
extern const OpDef kOrthogonal;       // {key, gain, shape}
extern const OpDef kIota;             // {dim, dtype, shape}: the global index along dim

// Stored numbers to those of training: ops/conversion.h.
extern const OpDef kConvert;   // {dtype, scale, offset, (mean, std)}
extern const OpDef kTakeRows;  // the same of rows: (samples [n, ..], rows [b]) -> [b, ..]

// Elementwise: kAbs, kAdd, .., one for each entry of elementwise/list.h.
using namespace elementwise;
extern const OpDef kCast;  // {dtype}

// Reductions: {axes, keepdims}, of a sum (dtype). Softmax and its kin along {axis}.
extern const OpDef kReduceMax;
extern const OpDef kReduceSum;
extern const OpDef kScaledSum;  // {axes, keepdims, factor}
extern const OpDef kSumOfSquares;
extern const OpDef kRotary;  // (x, cos, sin) {axis, inverse}
extern const OpDef kArgMax;  // {axis}: int32, lowest index among equals
extern const OpDef kLogSoftmax;
extern const OpDef kSoftmax;
extern const OpDef kSparsemax;

// Of logits x [.., c] and labels int32 [..], with softmax: what losses become (rewrite/).
extern const OpDef kCrossentropy;  // (x, labels) -> [..]; 0 if out of range
extern const OpDef
    kCrossentropyGradient;  // (x, labels, d [.., 1] or {d}) -> [.., c] (dtype); d: of its negative

// Attention and what its gradients need: graph/attention_options.h, which lists the operands that
// may follow, from the mask to the segments.
extern const OpDef kAttention;               // (q, k, v, ..) -> [b, t, g, r, e]
extern const OpDef kAttentionLogSum;         // as kAttention -> [b, t, g, r]
extern const OpDef kAttentionQueryGradient;  // (q, k, v, dy, log_sum, delta, ..)
extern const OpDef kAttentionKeyGradient;
extern const OpDef kAttentionValueGradient;

// Experts, each of which has `capacity` slots in a sample.
extern const OpDef kAssignSlots;  // (choices int32 [b, t, k]) {experts, capacity}: as choices
extern const OpDef kDispatch;  // (x [b, t, k or 1, h], slots) {experts, capacity} -> [e, b, c, h]
extern const OpDef kCombine;   // (x [e, b, c, h], slots [b, t, k]) -> [b, t, k, h]

// Windows that move over images [n, spatial.., channels]: ops/window.h. The
// `_backward_` ops are the gradients of `convolution`, which takes (x, w); the `_input` ops those
// of pools.
extern const OpDef kConvolution;                // {strides, padding, dilations, groups, extents}
extern const OpDef kConvolutionBackwardData;    // (dy, w): extents of x
extern const OpDef kConvolutionBackwardFilter;  // (x, dy): extents of w
extern const OpDef kMaxPool;                    // {window, strides, padding, extents}
extern const OpDef kMaxPoolInput;               // (x, dy)
extern const OpDef kSumPool;
extern const OpDef kSumPoolInput;
extern const OpDef kPad;  // {low, shape}: zeros around; negative: cuts

// Per channel, along {axis}; what is not like x is float32 whatever x is.
extern const OpDef kShiftedSums;      // (x, shift [c]) -> [3, c]: sums of x, x - shift, its square
extern const OpDef kChannelMoments;   // (x) -> [4, c]: those for {factor} * sum of x, and this
extern const OpDef kScaleOffset;      // (x, scale [c], offset [c])
extern const OpDef kScaleOffsetSums;  // (x, dy) -> [2, c]: its gradients

// Contraction and movement.
extern const OpDef kBroadcastTo;        // {shape}
extern const OpDef kConcatenate;        // {axis}
extern const OpDef kEinsum;             // {equation = "m k, k n -> m n"} (dtype)
extern const OpDef kEinsumBias;         // (x, w, bias) {equation, relu}: as kEinsum, + bias
extern const OpDef kEmbedding;          // (table [r, d], index [..]) -> [.., d]; 0 if out of range
extern const OpDef kEmbeddingGradient;  // (dy, index) {rows} -> [rows, d] (dtype)
extern const OpDef kOneHot;             // {depth}: int32 [..] -> float32 [.., depth]
extern const OpDef kTakeAlongAxis;  // (x [.., c], index [..]) -> x[.., index]; 0 if out of range
extern const OpDef kReshape;        // {shape} (stops_gradient)
extern const OpDef kSlice;  // {axis, start, size} (read_at_once: x is read in parts, at one time)
extern const OpDef kSparseEinsum;  // (x, w, chosen) {equation, chosen = "t e", of_row} (dtype)
extern const OpDef kTranspose;     // {perm}
extern const OpDef kWriteRows;     // (x [b, s, ..], rows [b, t, ..], start int32 [b]) -> as x

// Local programs only (spmd/): what reshards become. Among whom, and how much of what: a node's
// `collective`.
extern const OpDef kAllGather;
extern const OpDef kAllReduce;
extern const OpDef kAllToAll;
extern const OpDef kReduceScatter;
extern const OpDef kHaloPack;    // {dim, starts, extents}: pieces along dim for the neighbours
extern const OpDef kHaloUnpack;  // (x, pieces) {dim, start, extents, own}: the tile with its halo
extern const OpDef kAddPart;     // (x, part) {dim, start}: x with part added to some of its rows
extern const OpDef kPack;        // {dim, extents}: blocks along dim, one after the other
extern const OpDef kTransposeBlocks;  // {counts, columns}: rows of blocks, column by column
extern const OpDef kUnpack;           // {dim, extents, shape}: its inverse
extern const OpDef kPackedEinsum;     // as kSparseEinsum {.., packed}: of blocks [.., packed, m]
extern const OpDef kPackChosen;       // (x [.., e, m], chosen [.., e]) {packed} -> [.., packed, m]
extern const OpDef kUnpackChosen;     // (x [.., packed, m], chosen [.., e]) -> [.., e, m]

/// Every op, for the text form, tests and kernels.
const std::vector<const OpDef*>& registry();
/// The op called `name`; nullptr if there is none.
const OpDef* find(std::string_view name);

// Spelling of the common ones.
/// The attributes of a constant of this type.
Attrs constant_attrs(double value, const TensorType& type);
ValueId constant(GraphBuilder& b, double value, const TensorType& type = {DType::kFloat32, {}});
/// A scalar of the dtype of `x` if that is floating, else float32.
ValueId constant_like(GraphBuilder& b, double value, ValueId x);
/// The input of the program called `name`, made where there is none yet.
ValueId input(GraphBuilder& b, const std::string& name, const TensorType& type);
ValueId add(GraphBuilder& b, ValueId x, ValueId y);
ValueId subtract(GraphBuilder& b, ValueId x, ValueId y);
ValueId multiply(GraphBuilder& b, ValueId x, ValueId y);
ValueId divide(GraphBuilder& b, ValueId x, ValueId y);
ValueId maximum(GraphBuilder& b, ValueId x, ValueId y);
ValueId minimum(GraphBuilder& b, ValueId x, ValueId y);
ValueId power(GraphBuilder& b, ValueId x, ValueId y);
ValueId equal(GraphBuilder& b, ValueId x, ValueId y);  ///< 1 or 0
ValueId greater(GraphBuilder& b, ValueId x, ValueId y);
ValueId greater_equal(GraphBuilder& b, ValueId x, ValueId y);
/// x where the condition is not 0, else y.
ValueId select(GraphBuilder& b, ValueId condition, ValueId x, ValueId y);
ValueId negate(GraphBuilder& b, ValueId x);
ValueId abs(GraphBuilder& b, ValueId x);
ValueId square(GraphBuilder& b, ValueId x);
ValueId sqrt(GraphBuilder& b, ValueId x);
ValueId exp(GraphBuilder& b, ValueId x);
ValueId log(GraphBuilder& b, ValueId x);
ValueId floor(GraphBuilder& b, ValueId x);
ValueId scale(GraphBuilder& b, ValueId x, double factor);  ///< x * factor
ValueId shift(GraphBuilder& b, ValueId x, double offset);  ///< x + offset
ValueId one_minus(GraphBuilder& b, ValueId x);             ///< 1 - x
/// x where it lies in [low, high], else the nearer bound.
ValueId clip(GraphBuilder& b, ValueId x, double low, double high);
ValueId reduce_sum(GraphBuilder& b, ValueId x, std::vector<std::int64_t> axes, bool keepdims);
ValueId reduce_max(GraphBuilder& b, ValueId x, std::vector<std::int64_t> axes, bool keepdims);
ValueId reduce_mean(GraphBuilder& b, ValueId x, std::vector<std::int64_t> axes, bool keepdims);
ValueId einsum(GraphBuilder& b, ValueId x, ValueId y, const std::string& equation);
ValueId reshape(GraphBuilder& b, ValueId x, Shape shape);
ValueId transpose(GraphBuilder& b, ValueId x, std::vector<std::int64_t> perm);
ValueId broadcast_to(GraphBuilder& b, ValueId x, Shape shape);
ValueId cast(GraphBuilder& b, ValueId x, DType dtype);
/// Sums `x` down to `shape`, which broadcasts to x's shape: the gradient of broadcasting.
ValueId sum_to(GraphBuilder& b, ValueId x, const Shape& shape);
/// A zero of the type of `x`.
ValueId zeros_like(GraphBuilder& b, ValueId x);

}  // namespace meshwork::ops
