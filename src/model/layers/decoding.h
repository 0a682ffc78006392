#pragma once

#include "model/layers/layer.h"

namespace meshwork::layers {

/// What attention needs of what was there before, where a model is given a part of a sequence.
struct Remembered {
  ValueId key, value;       ///< [batch, context, heads, width]
  ValueId mask = kNoValue;  ///< float32 [batch, context]: which keys count; kNoValue: all
};

/// The projections of key and value and the mask of keys, [batch, tokens, ..] each, with those of
/// all tokens before.
Remembered remember(Scope& scope, const Remembered& now);

/// Says that the layer remembers when the model decodes.
void mention_caches(Scope& scope);

/// An Error unless attention of these inputs, [batch, tokens, ..] each, and a mask, which may be
/// missing, can be computed of a part of a sequence at a time.
void check_attends_to_past(const Scope& scope, const config::Reader& args, bool is_causal,
                           std::span<const ValueId> inputs, bool has_mask);

/// 0, 1, .. along dimension `dim`, as count_along(); of a part of a sequence the places that its
/// tokens have in the whole, [batch, tokens, 1..]. An Error if `dim` is then not that of tokens.
ValueId places_along(Scope& scope, const config::Reader& args, std::size_t rank, std::size_t dim,
                     std::int64_t extent);

}  // namespace meshwork::layers
