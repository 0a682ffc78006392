#include "model/mask_tokens.h"

#include <utility>

#include "base/names.h"
#include "base/rng.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// Uniform in [0, high), for each token of this step.
ValueId draw(GraphBuilder& b, const TokenMask& mask, std::string_view what, Shape shape,
             double high = 1) {
  const ValueId step = ops::input(b, names::kIteration, {DType::kInt64, {}});
  const auto key = static_cast<std::int64_t>(random_key(mask.seed, what));
  return b.add(ops::kRandomUniform, {step},
               {{"key", key}, {"low", 0.0}, {"high", high}, {"shape", std::move(shape)}});
}

/// 1 where x is below `limit`, else 0.
ValueId below(GraphBuilder& b, ValueId x, double limit) {
  return ops::greater(b, ops::constant(b, limit), x);
}

/// 1 for the tokens that are to be found, else 0.
ValueId chosen_of(GraphBuilder& b, const TokenMask& mask, ValueId numbers) {
  const ValueId u = draw(b, mask, "mask_tokens/chosen", b.shape(numbers));
  ValueId chosen = below(b, u, mask.mask_selection_rate);
  for (const std::int64_t id : mask.unselectable_token_ids) {
    const ValueId same = ops::equal(b, numbers, ops::constant(b, static_cast<double>(id)));
    chosen = ops::select(b, same, ops::constant_like(b, 0.0, chosen), chosen);
  }
  return chosen;
}

/// What stands in the place of a chosen token.
ValueId disguised(GraphBuilder& b, const TokenMask& mask, ValueId numbers) {
  const Shape shape = b.shape(numbers);
  const auto tokens = static_cast<double>(mask.vocabulary_size);
  const ValueId any = ops::floor(b, draw(b, mask, "mask_tokens/any", shape, tokens));
  const ValueId way = draw(b, mask, "mask_tokens/way", shape);
  const double changed_rate = mask.mask_token_rate + mask.random_token_rate;
  const ValueId changed = ops::select(b, below(b, way, changed_rate), any, numbers);
  const auto id = static_cast<double>(mask.mask_token_id);
  return b.add(ops::kSelect,
               {below(b, way, mask.mask_token_rate), ops::constant_like(b, id, numbers), changed});
}

}  // namespace

ValueId mask_tokens(GraphBuilder& b, const TokenMask& mask, ValueId tokens) {
  // float32 holds every number of a token (TokenMask::kMostTokens).
  const ValueId numbers = ops::cast(b, tokens, DType::kFloat32);
  const ValueId chosen = chosen_of(b, mask, numbers);
  const ValueId found = b.add(
      ops::kSelect,
      mask.is_label
          ? std::vector{chosen, numbers, ops::constant_like(b, TokenMask::kNotChosen, numbers)}
          : std::vector{chosen, disguised(b, mask, numbers), numbers});
  return ops::cast(b, found, b.type(tokens).dtype);
}

}  // namespace meshwork
