#!/usr/bin/env python3
"""Records ten steps of Keras 3 with small transformers: tests/fixtures/transformers/*.{yaml,npz}, and
one of them under Keras's policy mixed_bfloat16: tests/fixtures/mixed_bfloat16/masked_encoder.*.

The files have the form of those of make_keras_fixtures.py, without the state of the optimizer. Steps
that do not count are rows 0 of an Embedding.
Needs keras, keras-hub, jax (CPU) and PyYAML. Usage: make_transformer_fixtures.py [tests/fixtures]
"""

import os
import sys

from keras_losses import SCCE
from make_keras_fixtures import BATCH, STEPS, write_cases

import numpy as np

SAMPLES = STEPS * BATCH
LENGTH = 6
TOKENS = 11
CLASSES = 5
WIDTH = 8

CROSSENTROPY = {SCCE: {"from_logits": True}}
# The bias of a key has a gradient of rounding alone, which Adam would blow up but for its epsilon.
ADAM = {"Adam": {"learning_rate": 0.02, "epsilon": 0.001}}


def transformer(name, source, attention, norm, feed_forward):
    """A block that normalizes before its parts; the last layer is <name>_sum2."""
    return [
        {norm: {"name": f"{name}_norm1", "epsilon": 1e-5, "inputs": [source]}},
        *attention,
        {"Add": {"name": f"{name}_sum1", "inputs": [source, f"{name}_attention"]}},
        {norm: {"name": f"{name}_norm2", "epsilon": 1e-5}},
        *feed_forward,
        {"Add": {"name": f"{name}_sum2", "inputs": [f"{name}_sum1", f"{name}_down"]}},
    ]


def gpt_block(name, source, causal=True, units=20, lora=None):
    lora = lora or {}
    norm = f"{name}_norm1"
    heads = {"num_heads": 2, "key_dim": 4, "use_causal_mask": causal, "inputs": [norm, norm]}
    gelu = {"gelu": {"approximate": True}}
    return transformer(
        name,
        source,
        [{"MultiHeadAttention": {"name": f"{name}_attention", **heads}}],
        "LayerNormalization",
        [
            {"Dense": {"name": f"{name}_up", "units": units, "activation": gelu, **lora}},
            {"Dense": {"name": f"{name}_down", "units": WIDTH, **lora}},
        ],
    )


def projection(name, source, heads, **lora):
    args = {"equation": "btd,dhk->bthk", "output_shape": [None, heads, 4], **lora}
    return {"EinsumDense": {"name": name, **args, "inputs": [source]}}


def llama_block(name, source, **lora):
    norm = f"{name}_norm1"
    query, key, value = (f"{name}_{part}" for part in ("query", "key", "value"))
    attention = [
        projection(query, norm, 4, **lora),
        projection(key, norm, 2),
        projection(value, norm, 2, **lora),
        {"RotaryEmbedding": {"name": f"{query}_turned", "inputs": [query]}},
        {"RotaryEmbedding": {"name": f"{key}_turned", "inputs": [key]}},
        {
            "DotProductAttention": {
                "name": f"{name}_attended",
                "is_causal": True,
                "inputs": [f"{query}_turned", f"{key}_turned", value],
            }
        },
        {
            "EinsumDense": {
                "name": f"{name}_attention",
                "equation": "bthk,hkd->btd",
                "output_shape": [None, WIDTH],
            }
        },
    ]
    norm2 = f"{name}_norm2"
    gated = {"units": 12, "use_bias": False, "inputs": [norm2]}
    feed_forward = [
        {"Dense": {"name": f"{name}_gate", "activation": "silu", **gated, **lora}},
        {"Dense": {"name": f"{name}_up", **gated}},
        {"Multiply": {"name": f"{name}_gated", "inputs": [f"{name}_gate", f"{name}_up"]}},
        {"Dense": {"name": f"{name}_down", "units": WIDTH, "use_bias": False}},
    ]
    return transformer(name, source, attention, "RMSNormalization", feed_forward)


def logits(units=TOKENS):
    return {"Dense": {"name": "logits", "units": units, "use_bias": False}}


GPT = {
    "input": [LENGTH],
    "layers": [
        {"ReversibleEmbedding": {"name": "tokens", "input_dim": TOKENS, "output_dim": WIDTH}},
        {"PositionEmbedding": {"name": "positions", "sequence_length": LENGTH + 2}},
        {"Add": {"name": "embedded", "inputs": ["tokens", "positions"]}},
        *gpt_block("b0", "embedded"),
        *gpt_block("b1", "b0_sum2"),
        {"LayerNormalization": {"name": "norm", "epsilon": 1e-5}},
        {"use": {"layer": "tokens", "name": "logits", "reverse": True}},
    ],
}
EMBEDDING = {"Embedding": {"name": "tokens", "input_dim": TOKENS, "output_dim": WIDTH}}
LLAMA = {
    "input": [LENGTH],
    "layers": [
        EMBEDDING,
        *llama_block("b0", "tokens"),
        *llama_block("b1", "b0_sum2"),
        {"RMSNormalization": {"name": "norm", "epsilon": 1e-5}},
        logits(),
    ],
}
LORA = {
    "input": [LENGTH],
    "layers": [
        {"Embedding": {"name": "tokens", "input_dim": TOKENS, "output_dim": WIDTH, "lora_rank": 2}},
        *llama_block("b0", "tokens", lora_rank=2),
        *gpt_block("b1", "b0_sum2", lora={"lora_rank": 3}),
        {"RMSNormalization": {"name": "norm"}},
        logits(),
    ],
}
PADDED = {
    "TokenAndPositionEmbedding": {
        "name": "tokens",
        "vocabulary_size": TOKENS,
        "sequence_length": LENGTH,
        "embedding_dim": WIDTH,
        "mask_zero": True,
    }
}
PARTS = {"intermediate_dim": 12, "num_heads": 2}
ENCODER = {
    "input": [LENGTH],
    "layers": [
        PADDED,
        {"TransformerEncoder": {"name": "e0", **PARTS, "activation": "gelu"}},
        {"TransformerEncoder": {"name": "e1", **PARTS, "normalize_first": True}},
        logits(CLASSES),
    ],
}
# What the decoder reads is another table's, without padding.
DECODER = {
    "input": [LENGTH],
    "layers": [
        PADDED,
        {"TransformerEncoder": {"name": "read", **PARTS}},
        {
            "Embedding": {
                "name": "others",
                "input_dim": TOKENS,
                "output_dim": WIDTH,
                "inputs": ["input"],
            }
        },
        {"TransformerDecoder": {"name": "d0", **PARTS, "inputs": ["others", "read"]}},
        {
            "TransformerDecoder": {
                "name": "d1",
                **PARTS,
                "normalize_first": True,
                "inputs": ["d0", "read"],
            }
        },
        logits(CLASSES),
    ],
}
VIT = {
    "input": [8, 8, 2],
    "layers": [
        {"Conv2D": {"name": "patches", "filters": WIDTH, "kernel_size": 2, "strides": 2}},
        {"Reshape": {"name": "steps", "target_shape": [16, WIDTH]}},
        {"PositionEmbedding": {"name": "positions", "sequence_length": 16}},
        {"Add": {"name": "embedded", "inputs": ["steps", "positions"]}},
        *gpt_block("b0", "embedded", causal=False),
        *gpt_block("b1", "b0_sum2", causal=False, units=7),
        {"LayerNormalization": {"name": "norm"}},
        {"GlobalAveragePooling1D": {"name": "mean"}},
        logits(CLASSES),
    ],
}
MIXTURE = {"num_experts": 4, "intermediate_dim": 6, "router_aux_loss_coefficient": 0.5}
EXPERTS = {
    "input": [LENGTH],
    "layers": [
        EMBEDDING,
        *llama_block("b0", "tokens")[:-5],
        {"MixtureOfExperts": {"name": "b0_down", **MIXTURE}},
        {"Add": {"name": "b0_sum2", "inputs": ["b0_sum1", "b0_down"]}},
        {"RMSNormalization": {"name": "norm", "epsilon": 1e-5}},
        logits(),
    ],
}
MASKED_EXPERTS = {
    "input": [LENGTH],
    "layers": [PADDED, {"MixtureOfExperts": {"name": "mixed", **MIXTURE}}, logits(CLASSES)],
}


def case(model, optimizer=ADAM, metrics=("accuracy",)):
    return model, optimizer, CROSSENTROPY, list(metrics), SAMPLES, {}


ADAMW = {
    "AdamW": {
        "learning_rate": 0.01,
        "epsilon": 0.001,
        "weight_decay": 0.1,
        "exclude_from_weight_decay": ["bias", "gamma", "beta"],
        "global_clipnorm": 1.0,
    }
}
CASES = {
    "gpt": case(GPT, ADAMW),
    "llama": case(LLAMA),
    "lora": case(LORA),
    "masked_encoder": case(ENCODER, metrics=()),
    "decoder": case(DECODER),
    "experts": case(EXPERTS),
    "masked_experts": case(MASKED_EXPERTS, metrics=()),
    "vit": case(VIT),
}
# So little that the rounding of gradients, where Keras's differs most, does not grow.
MIXED = {"masked_encoder": case(ENCODER, {"SGD": {"learning_rate": 0.0003}})}


def data_of(rng, case):
    """Images, windows and the tokens that follow, or sequences that end in padding."""
    model, _, _, _, samples, _ = case
    if model is VIT:
        x = np.round(8 * rng.normal(size=(samples, *model["input"]))) / 8
        return x.astype(np.float32), rng.integers(0, CLASSES, samples).astype(np.int32)
    if model in (ENCODER, DECODER, MASKED_EXPERTS):
        hidden = np.arange(LENGTH) >= rng.integers(1, LENGTH + 1, (samples, 1))
        x = np.where(hidden, 0, rng.integers(1, TOKENS, (samples, LENGTH)))
        return x.astype(np.float32), rng.integers(0, CLASSES, x.shape).astype(np.int32)
    tokens = rng.integers(0, TOKENS, (samples, LENGTH + 1))
    return tokens[:, :-1].astype(np.float32), tokens[:, 1:].astype(np.int32)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/fixtures"
    write_cases(os.path.join(folder, "transformers"), CASES, data_of=data_of, slots=False)
    mixed = os.path.join(folder, "mixed_bfloat16")
    write_cases(mixed, MIXED, "mixed_bfloat16", data_of=data_of, slots=False)


if __name__ == "__main__":
    main()
