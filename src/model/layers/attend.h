#pragma once

#include <optional>

#include "model/layers/layer.h"

namespace meshwork::layers {

struct Heads {
  std::int64_t queries = 0, keys = 0;           ///< how many; a multiple of how many
  std::int64_t key_width = 0, value_width = 0;  ///< features of each
};

/// What attention with heads is told besides its operands.
struct HeadAttention {
  Heads heads;
  std::optional<double> scale;  ///< of scores; 1 / sqrt(key_width) unless given
  double dropout = 0;
  std::int64_t stream = 0;  ///< of dropout
  bool is_causal = false;
  std::int64_t window = 0;  ///< 0: all keys
};

/// Whether an input that may be left out is there.
bool is_given(std::span<const ValueId> inputs, std::size_t input);

/// [batch, keys]: the masks of value and key, inputs 1 and 2; kNoValue: all count.
ValueId read_key_mask(Scope& scope, std::span<const ValueId> inputs);

/// What attention is computed of.
struct Operands {
  ValueId query, key, value;          ///< [batch, steps, heads, width]
  ValueId key_mask = kNoValue;        ///< float32 [batch, keys]; kNoValue: all count
  ValueId attention_mask = kNoValue;  ///< [batch, queries, keys] or [batch, heads, queries, keys]
  /// [batch, steps] of queries and keys: a query sees keys of its own segment; kNoValue: all.
  ValueId segments = kNoValue;
};

/// [batch, queries, heads, width]. Where a part of a sequence is given, keys and values are
/// remembered, and queries see those of all parts before.
ValueId attend(Scope& scope, const config::Reader& args, const HeadAttention& attention,
               const Operands& operands);

}  // namespace meshwork::layers
