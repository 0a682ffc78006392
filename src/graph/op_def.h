#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reduction.h"
#include "graph/graph.h"
#include "graph/reach.h"

namespace meshwork {

class GraphBuilder;

/// What an op is asked about: the types around one node.
struct OpArgs {
  std::span<const TensorType> inputs;
  const Attrs& attrs;
  TensorType output;  ///< not yet known while inferring
  const CollectiveArgs* collective = nullptr;
};

/// In which operands an op is linear, so that a partial sum may pass through it unreduced, unless
/// the dtype of the result holds less than theirs.
enum class Linear {
  kNo,
  kJointly,  ///< all operands partial over the same axes: add, negate, reshape
  kEach,     ///< any one operand partial, the others not: multiply, einsum
  kFirst,    ///< only the first operand: divide
};

/// What is there before the program runs.
enum class Leaf { kNone, kInput, kSamples, kVariable };

/// What an op does to make a field of the data of what is stored: reads it as numbers, or encodes
/// what was read.
enum class FieldStep { kNone, kRead, kEncode };

/// The whole meaning of an op, apart from its kernels. One file in ops/ defines one.
struct OpDef {
  std::string_view name;

  /// Type of the result; throws Error for operands that do not fit. Never called with `output`.
  TensorType (*infer)(const OpArgs& args) = nullptr;

  /// Dimension rule, an einsum string over named factors (graph/dim_rule.h).
  std::string (*rule)(const OpArgs& args) = nullptr;

  /// For a dimension of an operand that the rule marks `~`: which of its elements results need.
  Reach (*reach)(const OpArgs& args, std::size_t operand, std::size_t dim) = nullptr;

  /// Gradients of the inputs given that of the result, kNoValue where there is none.
  /// nullptr: not differentiable (gradient zero everywhere, as of a comparison).
  std::vector<ValueId> (*grad)(GraphBuilder& b, ValueId self, ValueId dy) = nullptr;

  /// The same value from ops that may shard the `[c]` factors of the rule; nullptr: gathered.
  ValueId (*split)(GraphBuilder& b, std::span<const ValueId> inputs, const Attrs& attrs) = nullptr;

  /// Floating-point operations of the whole (global) node; nullptr: one per element of the result.
  double (*flops)(const OpArgs& args) = nullptr;

  /// The value of every element of the result where all elements of an operand are equal, if one
  /// operation of IEEE 754 gives it; nullptr: unknown.
  float (*fold)(std::span<const float> operands) = nullptr;

  Leaf leaf = Leaf::kNone;
  bool is_constant = false;  ///< every element is the attribute `value`
  FieldStep field = FieldStep::kNone;
  Linear linear = Linear::kNo;
  Reduction reduction = Reduction::kSum;  ///< how factors missing on the right of the rule combine
  /// Several ops read the result: a partial one is reduced at once instead of by each of them.
  bool reduce_eagerly = false;
  /// The attribute `dtype` may ask for a float32 result of operands of 16 bits.
  bool wide_result = false;
  bool in_place = false;  ///< the result may take the place of an operand of its type
  /// An element of the result depends on one element of each operand, broadcast as in numpy or
  /// along `axis`: such nodes may be computed together, in one pass.
  bool elementwise = false;
  /// The result has the elements of its only operand in their order, if in another type or shape.
  bool same_elements = false;
  /// The operands stand in the result one after the other, along the attribute `axis`.
  bool joins = false;
  /// Adds up its operand over the attribute `axes`.
  bool sums = false;
  /// The rule says it all: sums of products of an element of each of the two operands.
  bool sums_products = false;
  /// Adds rows of operand 0 up in rows of the result that operand 1 names, the others are 0: blocks
  /// of rows can be computed one by one, each of its own rows of operand 0 alone.
  bool adds_rows = false;
  /// A part of the result is computed for that part of the time, of operands that need not be cut.
  bool any_part = false;
  /// What windows reach outside of operand 0 counts as zero: the result is the sum of those that
  /// the parts of this operand give.
  bool sums_parts = false;
  Collective collective = Collective::kNone;
  /// Elements of input 0 before the result, if this stands there, in the same order; nullopt: not
  /// so.
  std::optional<std::int64_t> (*view_offset)(const OpArgs& args) = nullptr;
};

inline bool is_leaf(const Node& node) { return node.op->leaf != Leaf::kNone; }
inline bool is_collective(const Node& node) { return node.op->collective != Collective::kNone; }

}  // namespace meshwork
