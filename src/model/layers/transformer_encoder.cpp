// keras-hub's encoder: self-attention and two dense layers, each with a shortcut and a
// normalization. Inputs are the sequence [steps, features], a padding mask [steps] in the place of
// its own, and an attention mask [steps, steps].
#include "model/layers/transformer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  Transformer transformer(scope, args, inputs[0]);
  ValueId key_mask = padding_of(scope, args, inputs, 0, 1);
  const ValueId own = scope.mask(0);
  // Attention sees the mask of the sequence besides.
  if (own != kNoValue && own != key_mask) key_mask = ops::multiply(scope.builder(), own, key_mask);
  const ValueId x = transformer.attend({.name = "self_attention_layer",
                                        .norm = "self_attention_layer_norm",
                                        .dropout = "self_attention_dropout",
                                        .query_mask = own,
                                        .key_mask = key_mask,
                                        .attention_mask = input_at(inputs, 2)},
                                       inputs[0]);
  return transformer.feed_forward(x);
}

}  // namespace

const LayerDef kTransformerEncoder{
    .names = {"TransformerEncoder"},
    .build = build,
    .max_inputs = 3,
    .passes_mask = true,
    .call_inputs = {"inputs", "padding_mask", "attention_mask"},
    .parts = {{"self_attention_layer", "_self_attention_layer", &kMultiHeadAttention},
              {"self_attention_layer_norm", "_self_attention_layer_norm"},
              {"feedforward_layer_norm", "_feedforward_layer_norm"},
              {"feedforward_intermediate_dense", "_feedforward_intermediate_dense"},
              {"feedforward_output_dense", "_feedforward_output_dense"}},
    .module = "keras_hub.layers",
};

}  // namespace meshwork::layers
