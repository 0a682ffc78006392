#include "model/layers/attend.h"

#include <cmath>

#include "graph/attention_options.h"
#include "model/arguments.h"
#include "model/layers/masks.h"
#include "ops/ops.h"

namespace meshwork::layers {

bool is_given(std::span<const ValueId> inputs, std::size_t input) {
  return input < inputs.size() && inputs[input] != kNoValue;
}

ValueId read_key_mask(Scope& scope, const config::Reader& args, const Heads& heads,
                      std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const std::int64_t keys = b.shape(inputs[1])[1];
  ValueId mask = kNoValue;
  const auto join = [&](ValueId other) {
    mask = mask == kNoValue ? other : ops::multiply(b, mask, other);
  };
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    if (!is_given(inputs, input) || scope.mask(input) == kNoValue) continue;
    join(ops::reshape(b, scope.mask(input), {b.shape(scope.mask(input))[0], 1, 1, 1, keys}));
  }
  if (!is_given(inputs, 3)) return mask;
  const ValueId given = differs(b, inputs[3], 0);
  const Shape shape = b.shape(given);
  const std::int64_t queries = b.shape(inputs[0])[1];
  if (shape == Shape{shape[0], queries, keys}) {
    join(ops::reshape(b, given, {shape[0], queries, 1, 1, keys}));
  } else if (shape == Shape{shape[0], heads.queries, queries, keys}) {
    join(ops::reshape(b, ops::transpose(b, given, {0, 2, 1, 3}),
                      {shape[0], queries, heads.keys, heads.queries / heads.keys, keys}));
  } else {
    fail_at(args.at(), "{}: the attention mask has samples {}; it needs {} or {}", args.what(),
            sample_shape(shape), to_string({queries, keys}),
            to_string({heads.queries, queries, keys}));
  }
  return mask;
}

ValueId attend(Scope& scope, const HeadAttention& attention, ValueId query, ValueId key,
               ValueId value, ValueId mask) {
  GraphBuilder& b = scope.builder();
  const Heads& heads = attention.heads;
  const Shape shape = b.shape(query);
  const bool drops = scope.training() && attention.dropout > 0;
  const double scale = 1 / std::sqrt(static_cast<double>(heads.key_width));
  const AttentionOptions attributes{.scale = attention.scale.value_or(scale),
                                    .causal = attention.is_causal,
                                    .window = attention.window,
                                    .rate = drops && attention.dropout < 1 ? attention.dropout : 0,
                                    .key = attention.stream};
  std::vector<ValueId> operands{
      ops::reshape(b, query,
                   {shape[0], shape[1], heads.keys, heads.queries / heads.keys, shape[3]}),
      key, value};
  if (mask != kNoValue) operands.push_back(mask);
  if (attributes.rate != 0) operands.push_back(scope.iteration());
  ValueId y = b.add(ops::kAttention, operands, attention_attrs(attributes));
  if (drops && attention.dropout == 1) y = ops::scale(b, y, 0.0);
  return ops::reshape(b, y, {shape[0], shape[1], heads.queries, heads.value_width});
}

}  // namespace meshwork::layers
