"""Transformer layers of keras-hub for make_layer_fixtures.py: case -> input, and layers."""

from keras_attention import MASKING

WIDTH = 4
ARGS = {"intermediate_dim": 5, "num_heads": 2}
# Keras takes a way of computing attention that gives other numbers to what is masked altogether.
DROPS = {"dropout": 0.5}
POOL = {"GlobalAveragePooling1D": {}}


def wide(name, source, units=WIDTH):
    return {"Dense": {"name": name, "units": units, "inputs": [source]}}


def mask(name, source, units):
    """Whole numbers of 0 or more, of which ReLU makes some 0: a padding mask, or one of attention."""
    drawn = {"Dense": {"name": f"{name}_drawn", "units": units, "activation": "relu", "inputs": [source]}}
    if units > 1:
        return [drawn, {"Rescaling": {"name": name, "scale": 512.0}}]
    return [drawn, {"Rescaling": {"scale": 512.0}}, {"Reshape": {"name": name, "target_shape": [-1]}}]


def encoder(args, source="input", shape=(5, 2)):
    return list(shape), [wide("x", source), {"TransformerEncoder": {**ARGS, **args}}]


def masked_encoder(args):
    shape, layers = encoder(args, "masking")
    return shape, [MASKING, *layers, POOL]


def encoder_masks(roles, args):
    """Masks that are inputs; the steps are padding themselves where there is `masking`."""
    inputs = {"inputs": "x", **{role: role for role in roles}}
    units = {"padding_mask": 1, "attention_mask": 5}
    masks = [layer for role in roles for layer in mask(role, "input", units[role])]
    return [5, 2], [
        wide("x", "input"),
        *masks,
        {"TransformerEncoder": {**ARGS, **args, "inputs": inputs}},
    ]


def decoder(args, source="input"):
    return [5, 2], [wide("x", source), {"TransformerDecoder": {**ARGS, **args}}]


def masked_decoder(args):
    shape, layers = decoder(args, "masking")
    return shape, [MASKING, *layers, POOL]


def cross_decoder(args, roles=()):
    """The sequence of the encoder has other steps, and other features, than that of the decoder."""
    inputs = {"decoder_sequence": "x", "encoder_sequence": "other", **{role: role for role in roles}}
    sources = {"decoder_padding_mask": ("x", 1), "decoder_attention_mask": ("x", 4)}
    sources.update({"encoder_padding_mask": ("input", 1), "encoder_attention_mask": ("x", 6)})
    masks = [layer for role in roles for layer in mask(role, *sources[role])]
    steps = {"name": "x", "filters": WIDTH, "kernel_size": 3, "inputs": ["input"]}
    return [6, 2], [
        {"Conv1D": steps},
        wide("other", "input", 3),
        *masks,
        {"TransformerDecoder": {**ARGS, **args, "inputs": inputs}},
    ]


def masked_cross_decoder(args):
    """The sequence of the encoder has a mask of its own, that of the decoder has none."""
    steps = {"name": "x", "filters": WIDTH, "kernel_size": 1, "inputs": ["masking"]}
    return [5, 2], [
        MASKING,
        {"Conv1D": steps},
        wide("other", "masking"),
        {"TransformerDecoder": {**ARGS, **args, "inputs": ["x", "other"]}},
    ]


def experts(args, source="input"):
    args = {"num_experts": 3, "intermediate_dim": 5, **args}
    return [5, 2], [wide("x", source), {"MixtureOfExperts": args}]


def masked_experts(args):
    shape, layers = experts(args, "masking")
    return shape, [MASKING, *layers, POOL]


PRE = {"normalize_first": True}
TRANSFORMERS = {
    "transformer_encoder": encoder({}),
    "transformer_encoder_pre": encoder({**PRE, "activation": "gelu", "layer_norm_epsilon": 0.01}),
    "transformer_encoder_uneven": encoder({"num_heads": 3}),
    "transformer_encoder_padding": encoder_masks(["padding_mask"], DROPS),
    "transformer_encoder_attention_mask": encoder_masks(["attention_mask"], DROPS),
    "transformer_encoder_masks": encoder_masks(["padding_mask", "attention_mask"], {**DROPS, **PRE}),
    "masked_transformer_encoder": masked_encoder(DROPS),
    "masked_transformer_encoder_pre": masked_encoder({**DROPS, **PRE}),
    "transformer_decoder": decoder({}),
    "transformer_decoder_pre": decoder({**PRE, "activation": "silu"}),
    "transformer_decoder_all": decoder({"use_causal_mask": False}),
    "masked_transformer_decoder": masked_decoder(DROPS),
    "masked_transformer_decoder_all": masked_decoder({**DROPS, "use_causal_mask": False}),
    "transformer_decoder_cross": cross_decoder({}),
    "transformer_decoder_cross_pre": cross_decoder(PRE),
    "transformer_decoder_paddings": cross_decoder(
        DROPS, ["decoder_padding_mask", "encoder_padding_mask"]
    ),
    "transformer_decoder_masks": cross_decoder(
        {**DROPS, **PRE}, ["decoder_attention_mask", "encoder_attention_mask"]
    ),
    "transformer_decoder_all_masks": cross_decoder(
        DROPS,
        [
            "decoder_padding_mask",
            "decoder_attention_mask",
            "encoder_padding_mask",
            "encoder_attention_mask",
        ],
    ),
    "masked_transformer_decoder_cross": masked_cross_decoder(DROPS),
    "mixture_of_experts": experts({}),
    "mixture_of_experts_one": experts({"num_experts": 5, "top_k": 1}),
    "mixture_of_experts_all": experts({"top_k": 3}),
    "masked_mixture_of_experts": masked_experts({}),
}
