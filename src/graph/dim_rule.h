#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace meshwork {

/// A dimension rule, parsed: how the dimensions of the operands and of the result belong together.
///
///   m k, k n -> m n        a factor may be sharded wherever it stands; `k` leaves a partial result
///   b [c] -> b [c]         `[c]` must be whole on every device
///   n h w -> n (h w)       a merged dimension; its first factor may be sharded in equal parts,
///                          the next where it is split down to single elements
///   a b, 1 b -> a b        `1`: an extent of one that is broadcast, never sharded
///   n h~ w~ c -> n h w c   `~`: results need a window of the dimension, by the op's `reach`; where
///                          its factor is sharded, neighbours' elements are fetched (a halo)
///   -> a b                 an op without operands; it may be sharded where a layout is given
struct DimRule {
  struct Factor {
    std::string name;
    std::int64_t size = 1;
    bool whole = false;
  };
  /// Factors of one dimension, major first; empty for `1`.
  using Dim = std::vector<int>;
  using Operand = std::vector<Dim>;

  std::vector<Factor> factors;
  std::vector<Operand> inputs;
  Operand output;
  /// Of each dimension of an input that is marked `~`.
  using Marks = std::vector<std::optional<Reach>>;
  std::vector<Marks> reaches;  ///< of every input

  /// The factor that sharding dimension `dim` of `operand` shards, or -1: its first factor.
  static int major_factor(const Operand& operand, std::size_t dim);
  /// The dimension of `operand` whose first factor is `factor`, or -1.
  static int dim_of(const Operand& operand, int factor);
  /// Whether `factor` stands in the operand at all, first or not.
  static bool contains(const Operand& operand, int factor);
};

/// Parses `text` against the types around a node; sizes of factors are read off the shapes.
/// A text that does not fit the types is a broken invariant.
DimRule parse_rule(std::string_view text, std::span<const TensorType> inputs,
                   const TensorType& output);

/// The parsed rule of an op among these operands; of a node. KnownNodes parses those of nodes that
/// are alike once.
DimRule rule_of(const OpDef& op, const OpArgs& args);
DimRule rule_of(const Graph& graph, const Node& node);

/// A name of a factor, for rules of ops of any rank: "a", "b", .. "z", "a26".
std::string factor_name(std::size_t index);

/// "a b c" for rank 3.
std::string factor_names(std::size_t rank);

/// Rule of an elementwise op with numpy broadcasting: [4, 1, 3], [3] -> [4, 2, 3] gives
/// "a 1 c, c -> a b c" (an extent of one stays `a` where the result has one too).
std::string elementwise_rule(const OpArgs& args);

}  // namespace meshwork
