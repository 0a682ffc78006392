#include "model/layers/decoding.h"

#include "model/arguments.h"
#include "model/count_along.h"
#include "ops/ops.h"

namespace meshwork::layers {

Remembered remember(Scope& scope, const Remembered& now) {
  Remembered all{scope.cache("key_cache", now.key), scope.cache("value_cache", now.value)};
  if (now.mask != kNoValue) all.mask = scope.cache("mask_cache", now.mask);
  return all;
}

void mention_caches(Scope& scope) {
  for (const char* cache : {"key_cache", "value_cache"}) scope.mention_cache(cache);
}

void check_attends_to_past(const Scope& scope, const config::Reader& args, bool is_causal,
                           std::span<const ValueId> inputs, bool has_mask) {
  if (!is_causal) {
    fail_at(args.at(),
            "{}: to generate, tokens may not see those behind them; train with use_causal_mask: "
            "true",
            args.what());
  }
  if (has_mask) {
    fail_at(args.at(),
            "{}: to generate, it may have no attention_mask as input; use_causal_mask and "
            "sliding_window say the same of every part of a text",
            args.what());
  }
  for (const ValueId input : inputs) {
    const Shape& shape = scope.graph().type(input).shape;
    if (shape[1] == scope.decoding()->tokens) continue;
    fail_at(args.at(),
            "{}: to generate, the first dimension of its inputs is that of tokens, not {}",
            args.what(), sample_shape(shape));
  }
}

ValueId places_along(Scope& scope, const config::Reader& args, std::size_t rank, std::size_t dim,
                     std::int64_t extent) {
  GraphBuilder& b = scope.builder();
  if (!scope.decoding()) return count_along(b, rank, dim, extent);
  const Decoding& decoding = *scope.decoding();
  if (dim != 1 || extent != decoding.tokens) {
    fail_at(args.at(), "{}: to generate, it has to count along the tokens, the first dimension",
            args.what());
  }
  Shape shape(rank, 1);
  shape[0] = b.shape(decoding.places)[0];
  shape[1] = extent;
  return ops::reshape(b, decoding.places, std::move(shape));
}

}  // namespace meshwork::layers
