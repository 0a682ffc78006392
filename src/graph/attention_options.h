#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/shape.h"
#include "graph/attrs.h"

namespace meshwork {

// Scaled dot-product attention (Vaswani et al., 2017) and its gradients. Query head (g, r) attends
// to the keys and values of head g. Operands of its ops, in this order:
//
//   q [b, t, g, r, d], k [b, s, g, d], v [b, s, g, e]    of one dtype
//   dy [b, t, g, r, e], log_sum, delta [b, t, g, r]      of gradients; the last two are float32.
//                                                        `with_result`: y [b, t, g, r, e] for
//                                                        delta; `by_head`: log_sum is [b, g, r, t]
//   mask float32: 1 for keys that a query may see, else 0; [b, t, g, r, s] or ones for b, t, g, r
//   step int64                                           of dropout
//   shift int32 [b]                                      if `shifted`
//   segments int32 of queries [b, t] and keys [b, s]     if `segmented`
//
// A query's weights are the softmax of `scale` q k over the keys that it sees, and 0 if it sees
// none. log_sum is the logarithm of what that softmax divides by, and kNoKeys if the query sees no
// key. delta is the sum of dy y over e. No kernel holds the weights of all queries at once.

/// A log_sum of no keys: beside that of some keys it weighs nothing, and the exponential of a
/// hidden score (-infinity) less it is 0.
inline constexpr float kNoKeys = std::numeric_limits<float>::lowest();

/// The attributes of these ops.
struct AttentionOptions {
  double scale = 1;
  bool causal = false;      ///< no query sees keys behind its own place
  std::int64_t window = 0;  ///< if not 0, a query sees keys nearer than this only
  /// The part of the weights that dropout takes, in [0, 1). Weight (b, h, t, s), of head h = g *
  /// r's extent + r, is dropped where this element of a uniform tensor of `key` is below the rate.
  double rate = 0;
  std::int64_t key = 0;
  /// Query t of sample b stands at place t + shift[b] of the keys: a part of a longer sequence.
  bool shifted = false;
  /// A query sees keys of its own segment alone: of several texts in one sequence its own.
  bool segmented = false;
  /// Of gradients: for kernels that compute delta of dy and the result on their way.
  bool with_result = false;
  /// Of all: log_sums stand head by head.
  bool by_head = false;

  /// Whether masks and segments aside the query at a place sees the key at another.
  bool sees(std::int64_t query, std::int64_t other) const {
    const std::int64_t distance = query < other ? other - query : query - other;
    return (!causal || other <= query) && (window == 0 || distance < window);
  }
};

AttentionOptions attention_options(const Attrs& attrs);

/// Of the log_sum of queries [b, t, g, r, d].
Shape log_sum_shape(const Shape& q, bool by_head);
Attrs attention_attrs(const AttentionOptions& options);

/// Where operands stand that are not always there, behind the `fixed` ones that are.
struct AttentionExtras {
  std::optional<std::size_t> mask;
  std::optional<std::size_t> step;
  std::optional<std::size_t> shift;
  std::optional<std::size_t> query_segments, key_segments;  ///< both or none
};
AttentionExtras attention_extras(std::size_t fixed, std::size_t operands, const Attrs& attrs);

/// How many operands an op has without these.
constexpr std::size_t kAttentionOperands = 3;
constexpr std::size_t kAttentionGradientOperands = 6;
/// Where log_sum, and where delta, or the result, stand among them.
constexpr std::size_t kAttentionLogSumOperand = 4, kAttentionDeltaOperand = 5;

}  // namespace meshwork
