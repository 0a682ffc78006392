#include "model/layers/transformer.h"

#include "model/arguments.h"
#include "model/layers/masks.h"
#include "ops/ops.h"

namespace meshwork::layers {

Transformer::Transformer(Scope& scope, config::Reader& args, ValueId x)
    : scope_(scope), args_(args) {
  const Shape shape = scope.builder().shape(x);
  if (shape.size() != 3) {
    fail_at(args.at(), "{} needs samples [steps, features], not {}", args.what(),
            sample_shape(shape));
  }
  width_ = shape.back();
  units_ = args.require_integer("intermediate_dim", config::at_least(1));
  heads_ = args.require_integer("num_heads", config::at_least(1));
  if (heads_ > width_) {
    fail_at(args.at(), "{}: num_heads is {}, but samples {} have only {} features", args.what(),
            heads_, sample_shape(shape), width_);
  }
  dropout_ = args.get("dropout", 0.0, config::between(0, 1));
  epsilon_ = args.get("layer_norm_epsilon", 1e-5, config::at_least(0));
  activation_ = args.find("activation");
  if (is_null(args, "activation")) default_activation_ = "linear";
  refuse_null(args, {"kernel_initializer", "bias_initializer"});
  kernel_ = args.find("kernel_initializer");
  bias_ = args.find("bias_initializer");
  normalizes_first_ = args.get("normalize_first", false);
}

ValueId Transformer::normalize(const std::string& name, ValueId x) {
  return build_part(scope_, name, kLayerNormalization,
                    PartArguments(args_).set("epsilon", epsilon_), std::array{Masked{x}});
}

ValueId Transformer::drop(const std::string& name, ValueId x) {
  return build_part(scope_, name, kDropout, PartArguments(args_).set("rate", dropout_),
                    std::array{Masked{x}});
}

ValueId Transformer::dense(const std::string& name, std::int64_t units, const PartArguments& more,
                           ValueId x) {
  PartArguments arguments = more;
  arguments.set("units", units).set("kernel_initializer", kernel_).set("bias_initializer", bias_);
  return build_part(scope_, name, kDense, arguments, std::array{Masked{x}});
}

ValueId Transformer::attend(const Attention& attention, ValueId x) {
  const ValueId residual = x;
  if (normalizes_first_) x = normalize(attention.norm, x);
  PartArguments arguments(args_);
  arguments.set("num_heads", heads_)
      .set("key_dim", width_ / heads_)
      .set("dropout", dropout_)
      .set("use_causal_mask", attention.is_causal)
      .set("kernel_initializer", kernel_)
      .set("bias_initializer", bias_);
  const Masked query{x, attention.query_mask};
  const Masked value{attention.source == kNoValue ? x : attention.source, attention.key_mask};
  x = build_part(scope_, attention.name, kMultiHeadAttention, arguments,
                 std::array{query, value, Masked{}, Masked{attention.attention_mask}});
  x = ops::add(scope_.builder(), drop(attention.dropout, x), residual);
  return normalizes_first_ ? x : normalize(attention.norm, x);
}

ValueId Transformer::feed_forward(ValueId x) {
  const ValueId residual = x;
  if (normalizes_first_) x = normalize("feedforward_layer_norm", x);
  PartArguments activation(args_);
  activation.set("activation", default_activation_).set("activation", activation_);
  x = dense("feedforward_intermediate_dense", units_, activation, x);
  x = dense("feedforward_output_dense", width_, PartArguments(args_), x);
  x = ops::add(scope_.builder(), drop("feedforward_dropout", x), residual);
  return normalizes_first_ ? x : normalize("feedforward_layer_norm", x);
}

ValueId input_at(std::span<const ValueId> inputs, std::size_t input) {
  return input < inputs.size() ? inputs[input] : kNoValue;
}

ValueId padding_of(Scope& scope, const config::Reader& args, std::span<const ValueId> inputs,
                   std::size_t input, std::size_t padding_mask) {
  GraphBuilder& b = scope.builder();
  const ValueId padding = input_at(inputs, padding_mask);
  if (padding == kNoValue) return scope.mask(input);
  const Shape shape = b.shape(inputs[input]);
  if (b.shape(padding) != Shape{shape[0], shape[1]}) {
    fail_at(args.at(), "{}: the padding mask has samples {}; it needs {}, one number for each step",
            args.what(), sample_shape(b.shape(padding)), to_string({shape[1]}));
  }
  return differs(b, padding, 0);
}

}  // namespace meshwork::layers
