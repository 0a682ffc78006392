// y[b, t, h, :] = sum over s of softmax(scale query[b, t, h] key[b, s, g]) value[b, s, g], what
// keras.ops.dot_product_attention computes: attention with heads between projections of one's own.
// Inputs are [query, key, value, mask, segments], of which the last two may be left out; samples
// are [steps, heads, width], and each head of keys is that of as many heads of queries.
#include "model/arguments.h"
#include "model/layers/attend.h"
#include "model/layers/noise.h"

namespace meshwork::layers {
namespace {

/// Throws an Error unless query, key and value fit together.
Heads read_heads(const config::Reader& args, const Shape& q, const Shape& k, const Shape& v) {
  for (const Shape& shape : {q, k, v}) {
    if (shape.size() == 4) continue;
    fail_at(args.at(), "{} needs samples [steps, heads, width], not {}", args.what(),
            sample_shape(shape));
  }
  const bool is_alike = k[1] == v[1] && k[2] == v[2] && q[3] == k[3];
  if (!is_alike) {
    fail_at(args.at(),
            "{}: query, key and value have samples {}, {} and {}; key and value need as many steps "
            "and heads, query and key one width",
            args.what(), sample_shape(q), sample_shape(k), sample_shape(v));
  }
  if (q[2] % k[2] != 0) {
    fail_at(args.at(),
            "{}: the heads of the query must be a multiple of those of the key, not {} of {}",
            args.what(), q[2], k[2]);
  }
  return {.queries = q[2], .keys = k[2], .key_width = k[3], .value_width = v[3]};
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const GraphBuilder& b = scope.builder();
  HeadAttention attention;
  attention.heads = read_heads(args, b.shape(inputs[0]), b.shape(inputs[1]), b.shape(inputs[2]));
  attention.scale = args.get_real("scale");
  attention.is_causal = args.get("is_causal", false);
  attention.window = args.get_integer("sliding_window", config::at_least(1)).value_or(0);
  attention.dropout = args.get("dropout", 0.0, config::between(0, 1));
  attention.stream = read_stream(scope, args);
  // Masks of inputs 1 and 2, of key and value, are joined: their order does not matter.
  return attend(scope, args, attention,
                {.query = inputs[0],
                 .key = inputs[1],
                 .value = inputs[2],
                 .key_mask = read_key_mask(scope, inputs),
                 .attention_mask = is_given(inputs, 3) ? inputs[3] : kNoValue,
                 .segments = is_given(inputs, 4) ? inputs[4] : kNoValue});
}

}  // namespace

const LayerDef kDotProductAttention{
    .names = {"DotProductAttention"},
    .build = build,
    .min_inputs = 3,
    .max_inputs = 5,
    .passes_mask = true,
    .call_inputs = {"query", "key", "value", "mask", "segments"},
    .module = "",
};

}  // namespace meshwork::layers
