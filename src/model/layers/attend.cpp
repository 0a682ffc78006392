#include "model/layers/attend.h"

#include <array>
#include <cmath>

#include "graph/attention_options.h"
#include "model/arguments.h"
#include "model/layers/decoding.h"
#include "model/layers/masks.h"
#include "ops/ops.h"

namespace meshwork::layers {

bool is_given(std::span<const ValueId> inputs, std::size_t input) {
  return input < inputs.size() && inputs[input] != kNoValue;
}

ValueId read_key_mask(Scope& scope, std::span<const ValueId> inputs) {
  ValueId mask = kNoValue;
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    if (!is_given(inputs, input) || scope.mask(input) == kNoValue) continue;
    mask = mask == kNoValue ? scope.mask(input)
                            : ops::multiply(scope.builder(), mask, scope.mask(input));
  }
  return mask;
}

namespace {

/// [batch, queries, groups, members, keys] or ones in their place; kNoValue: all count.
ValueId join_masks(GraphBuilder& b, const config::Reader& args, const Heads& heads,
                   const Operands& x) {
  const std::int64_t queries = b.shape(x.query)[1], keys = b.shape(x.key)[1];
  ValueId mask = x.key_mask;
  if (mask != kNoValue) mask = ops::reshape(b, mask, {b.shape(mask)[0], 1, 1, 1, keys});
  if (x.attention_mask == kNoValue) return mask;
  ValueId given = differs(b, x.attention_mask, 0);
  const Shape shape = b.shape(given);
  if (shape == Shape{shape[0], queries, keys}) {
    given = ops::reshape(b, given, {shape[0], queries, 1, 1, keys});
  } else if (shape == Shape{shape[0], heads.queries, queries, keys}) {
    given = ops::reshape(b, ops::transpose(b, given, {0, 2, 1, 3}),
                         {shape[0], queries, heads.keys, heads.queries / heads.keys, keys});
  } else {
    fail_at(args.at(), "{}: the attention mask has samples {}; it needs {} or {}", args.what(),
            sample_shape(shape), to_string({queries, keys}),
            to_string({heads.queries, queries, keys}));
  }
  return mask == kNoValue ? given : ops::multiply(b, mask, given);
}

/// With keys and values of all parts before.
Operands with_past(Scope& scope, const config::Reader& args, const HeadAttention& attention,
                   Operands x) {
  if (!scope.decoding()) {
    mention_caches(scope);
    return x;
  }
  check_attends_to_past(scope, args, attention.is_causal, std::array{x.query, x.key},
                        x.attention_mask != kNoValue);
  const Remembered all = remember(scope, {x.key, x.value, x.key_mask});
  x.key = all.key;
  x.value = all.value;
  x.key_mask = all.mask;
  return x;
}

/// int32 [batch, steps]. An Error unless queries and keys have as many steps.
ValueId read_segments(GraphBuilder& b, const config::Reader& args, const Operands& x) {
  const Shape q = b.shape(x.query), k = b.shape(x.key), shape = b.shape(x.segments);
  if (shape == Shape{q[0], q[1]} && q[1] == k[1]) return ops::cast(b, x.segments, DType::kInt32);
  fail_at(
      args.at(),
      "{}: segments have samples {}, the query {} and the key {}; all three need as many steps, "
      "and segments one number for each",
      args.what(), sample_shape(shape), sample_shape(q), sample_shape(k));
}

}  // namespace

ValueId attend(Scope& scope, const config::Reader& args, const HeadAttention& attention,
               const Operands& operands) {
  GraphBuilder& b = scope.builder();
  // What is generated is one text.
  const bool has_segments = operands.segments != kNoValue && !scope.decoding();
  const ValueId segments = has_segments ? read_segments(b, args, operands) : kNoValue;
  const Operands x = with_past(scope, args, attention, operands);
  const Heads& heads = attention.heads;
  const Shape shape = b.shape(x.query);
  const bool drops = scope.training() && attention.dropout > 0;
  const double scale = 1 / std::sqrt(static_cast<double>(heads.key_width));
  const AttentionOptions attributes{.scale = attention.scale.value_or(scale),
                                    .causal = attention.is_causal,
                                    .window = attention.window,
                                    .rate = drops && attention.dropout < 1 ? attention.dropout : 0,
                                    .key = attention.stream,
                                    .shifted = scope.decoding().has_value(),
                                    .segmented = has_segments};
  std::vector<ValueId> inputs{
      ops::reshape(b, x.query,
                   {shape[0], shape[1], heads.keys, heads.queries / heads.keys, shape[3]}),
      x.key, x.value};
  const ValueId mask = join_masks(b, args, heads, x);
  if (mask != kNoValue) inputs.push_back(mask);
  if (attributes.rate != 0) inputs.push_back(scope.iteration());
  if (attributes.shifted) inputs.push_back(scope.decoding()->start);
  if (has_segments) inputs.insert(inputs.end(), 2, segments);
  ValueId y = b.add(ops::kAttention, inputs, attention_attrs(attributes));
  if (drops && attention.dropout == 1) y = ops::scale(b, y, 0.0);
  return ops::reshape(b, y, {shape[0], shape[1], heads.queries, heads.value_width});
}

}  // namespace meshwork::layers
