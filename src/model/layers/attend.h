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

/// [batch, queries, groups, members, keys] or ones in their place: the masks of value and key, and
/// an input of them; of [query, value, key, mask], the last two of which may be missing. kNoValue:
/// all count.
ValueId read_key_mask(Scope& scope, const config::Reader& args, const Heads& heads,
                      std::span<const ValueId> inputs);

/// [batch, queries, heads, width] of query, key and value [batch, steps, heads, width], and a mask
/// of read_key_mask().
ValueId attend(Scope& scope, const HeadAttention& attention, ValueId query, ValueId key,
               ValueId value, ValueId mask);

}  // namespace meshwork::layers
