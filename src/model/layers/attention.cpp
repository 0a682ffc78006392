// y = softmax(scores(query, key)) value, of inputs [query, value] or [query, value, key]. Attention
// takes products as scores, or a sum of tanh; AdditiveAttention that sum with a weight for each
// feature. The mask of the value hides scores, that of the query goes on.
#include "model/arguments.h"
#include "model/count_along.h"
#include "model/layers/masks.h"
#include "model/layers/noise.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// What Keras takes off hidden scores.
double hidden_by(DType dtype) { return dtype == DType::kFloat16 ? 65504 : 1e9; }

/// [batch, steps, features] each.
struct Attended {
  ValueId query, value, key;
};

Attended read_inputs(const GraphBuilder& b, const config::Reader& args,
                     std::span<const ValueId> inputs) {
  const Attended result{inputs[0], inputs[1], inputs.back()};
  for (const ValueId input : inputs) {
    if (b.shape(input).size() == 3) continue;
    fail_at(args.at(), "{} needs samples [steps, features], but an input has {}", args.what(),
            sample_shape(b.shape(input)));
  }
  if (b.shape(result.query)[2] != b.shape(result.key)[2]) {
    fail_at(args.at(), "{}: query and key have {} and {} features; give them as many", args.what(),
            b.shape(result.query)[2], b.shape(result.key)[2]);
  }
  if (b.shape(result.value)[1] != b.shape(result.key)[1]) {
    fail_at(args.at(), "{}: value and key have {} and {} steps; give them as many", args.what(),
            b.shape(result.value)[1], b.shape(result.key)[1]);
  }
  return result;
}

/// tanh(scale (query + key)), [batch, queries, keys, features].
ValueId joined(GraphBuilder& b, const Attended& x, ValueId scale) {
  const Shape q = b.shape(x.query);
  const Shape k = b.shape(x.key);
  const ValueId keys = ops::reshape(b, x.key, {k[0], 1, k[1], k[2]});
  ValueId sum = ops::add(b, ops::reshape(b, x.query, {q[0], q[1], 1, q[2]}), keys);
  if (scale != kNoValue) sum = ops::multiply(b, scale, sum);
  return b.add(ops::kTanh, {sum});
}

/// 1 where a query is not before the key, [1, queries, keys].
ValueId causal_mask(GraphBuilder& b, std::int64_t queries, std::int64_t keys) {
  return b.add(ops::kGreaterEqual, {count_along(b, 3, 1, queries), count_along(b, 3, 2, keys)});
}

/// 1 for scores [batch, queries, keys] that count; kNoValue if all do.
ValueId score_mask(Scope& scope, const Attended& x, bool is_causal) {
  GraphBuilder& b = scope.builder();
  const std::int64_t keys = b.shape(x.key)[1];
  ValueId mask = scope.mask(1);
  if (mask != kNoValue) mask = ops::reshape(b, mask, {b.shape(mask)[0], 1, keys});
  if (!is_causal) return mask;
  const ValueId causal = causal_mask(b, b.shape(x.query)[1], keys);
  return mask == kNoValue ? causal : ops::multiply(b, mask, causal);
}

/// The arguments that both layers have.
struct Options {
  double dropout = 0;
  std::int64_t stream = 0;
  bool is_causal = false;
};

Options read_options(Scope& scope, config::Reader& args) {
  Options options;
  options.dropout = args.get("dropout", 0.0, config::between(0, 1));
  options.stream = read_stream(scope, args);
  options.is_causal = args.get("use_causal_mask", false);
  return options;
}

ValueId attend(Scope& scope, const Attended& x, ValueId scores, const Options& options) {
  GraphBuilder& b = scope.builder();
  const ValueId mask = score_mask(scope, x, options.is_causal);
  if (mask != kNoValue) {
    scores = ops::select(b, mask, scores, ops::shift(b, scores, -hidden_by(b.type(scores).dtype)));
  }
  ValueId weights = b.add(ops::kSoftmax, {scores}, {{"axis", 2}});
  weights = drop(scope, weights, options.dropout, options.stream, b.shape(weights));
  const ValueId y = ops::einsum(b, weights, x.value, "b q k,b k d->b q d");
  return scope.mask(0) == kNoValue ? y : where(b, scope.mask(0), y, 0);
}

ValueId build_attention(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Attended x = read_inputs(b, args, inputs);
  const bool use_scale = args.get("use_scale", false);
  const bool is_dot = args.choose("score_mode", true, {{"dot", true}, {"concat", false}});
  const Options options = read_options(scope, args);
  const Initializer ones = read_initializer("ones");
  const ValueId scale = scope.optional_variable(use_scale, "use_scale: false", "scale", {}, ones);
  const ValueId weight =
      scope.optional_variable(!is_dot, "score_mode: dot", "concat_score_weight", {}, ones);
  if (is_dot) {
    const ValueId scores = ops::einsum(b, x.query, x.key, "b q d,b k d->b q k");
    return attend(scope, x, use_scale ? ops::multiply(b, scores, scale) : scores, options);
  }
  const ValueId sum = ops::reduce_sum(b, joined(b, x, scale), {3}, false);
  return attend(scope, x, ops::multiply(b, weight, sum), options);
}

ValueId build_additive(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Attended x = read_inputs(b, args, inputs);
  const bool use_scale = args.get("use_scale", true);
  const Options options = read_options(scope, args);
  const ValueId scale =
      scope.optional_variable(use_scale, "use_scale: false", "scale", {b.shape(x.query)[2]},
                              read_initializer("glorot_uniform"));
  ValueId terms = joined(b, x, kNoValue);
  if (use_scale) terms = ops::multiply(b, scale, terms);
  return attend(scope, x, ops::reduce_sum(b, terms, {3}, false), options);
}

}  // namespace

const LayerDef kAttention{
    .names = {"Attention"},
    .build = build_attention,
    .min_inputs = 2,
    .max_inputs = 3,
    .passes_mask = true,
    .call_arguments = {"use_causal_mask"},
};

const LayerDef kAdditiveAttention{
    .names = {"AdditiveAttention"},
    .build = build_additive,
    .min_inputs = 2,
    .max_inputs = 3,
    .passes_mask = true,
    .call_arguments = {"use_causal_mask"},
};

}  // namespace meshwork::layers
