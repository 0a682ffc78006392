// keras-hub's decoder: causal self-attention, with a second sequence attention to that one, and two
// dense layers, each with a shortcut and a normalization. Inputs are the sequence [steps,
// features], that of an encoder, and masks of both in the place of their own: padding [steps],
// attention [steps, steps of the keys].
#include "model/arguments.h"
#include "model/layers/transformer.h"

namespace meshwork::layers {
namespace {

enum Input : std::size_t { kSequence, kEncoder, kPadding, kMask, kEncoderPadding, kEncoderMask };

/// Throws an Error for masks of an encoder's sequence where there is none.
void check_inputs(const Scope& scope, const config::Reader& args, const GraphBuilder& b,
                  std::span<const ValueId> inputs) {
  const ValueId encoder = input_at(inputs, kEncoder);
  if (encoder != kNoValue) {
    const Shape shape = b.shape(encoder);
    if (shape.size() == 3) return;
    fail_at(args.at(), "{}: the sequence of the encoder has samples {}; it needs [steps, features]",
            args.what(), sample_shape(shape));
  }
  for (const Input mask : {kEncoderPadding, kEncoderMask}) {
    if (input_at(inputs, mask) == kNoValue) continue;
    fail_at(scope.layer().at, "{} has a mask of the encoder, but no encoder_sequence", args.what());
  }
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const bool is_causal = args.get("use_causal_mask", true);
  Transformer transformer(scope, args, inputs[kSequence]);
  check_inputs(scope, args, scope.builder(), inputs);
  ValueId x = transformer.attend({.name = "self_attention",
                                  .norm = "self_attention_layer_norm",
                                  .dropout = "self_attention_dropout",
                                  .is_causal = is_causal,
                                  .key_mask = padding_of(scope, args, inputs, kSequence, kPadding),
                                  .attention_mask = input_at(inputs, kMask)},
                                 inputs[kSequence]);
  if (input_at(inputs, kEncoder) != kNoValue) {
    x = transformer.attend({.name = "cross_attention",
                            .norm = "cross_attention_layer_norm",
                            .dropout = "cross_attention_dropout",
                            .source = inputs[kEncoder],
                            .key_mask = padding_of(scope, args, inputs, kEncoder, kEncoderPadding),
                            .attention_mask = input_at(inputs, kEncoderMask)},
                           x);
  }
  return transformer.feed_forward(x);
}

}  // namespace

const LayerDef kTransformerDecoder{
    .names = {"TransformerDecoder"},
    .build = build,
    .max_inputs = 6,
    .passes_mask = true,
    .call_arguments = {"use_causal_mask"},
    .call_inputs = {"decoder_sequence", "encoder_sequence", "decoder_padding_mask",
                    "decoder_attention_mask", "encoder_padding_mask", "encoder_attention_mask"},
    .parts = {{"self_attention", "_self_attention_layer", &kMultiHeadAttention},
              {"self_attention_layer_norm", "_self_attention_layer_norm"},
              {"cross_attention", "_cross_attention_layer", &kMultiHeadAttention},
              {"cross_attention_layer_norm", "_cross_attention_layer_norm"},
              {"feedforward_intermediate_dense", "_feedforward_intermediate_dense"},
              {"feedforward_output_dense", "_feedforward_output_dense"},
              {"feedforward_layer_norm", "_feedforward_layer_norm"}},
    .module = "keras_hub.layers",
};

}  // namespace meshwork::layers
