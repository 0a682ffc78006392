"""What keras_round_trip.py takes back and forth: models as Meshwork's files list them, each with an
optimizer."""

from keras_round_trip_recurrent import OUTPUTS, RECURRENT, STATES


def images(rank):
    """One of every layer over images of `rank` dimensions."""
    size = [9, 8, 7][:rank]
    d = f"{rank}D"
    layers = [
        {"Rescaling": {"scale": 0.5, "offset": 0.1}},
        {f"Conv{d}": {"filters": 4, "kernel_size": 3, "padding": "same"}},
        {"BatchNormalization": {}},
        {"PReLU": {}},
        {f"MaxPooling{d}": {"pool_size": 2, "padding": "same"}},
        {f"Conv{d}Transpose": {"filters": 6, "kernel_size": 3, "strides": 2}},
        {"GroupNormalization": {"groups": 3}},
        {f"UpSampling{d}": {"size": 2}},
        {f"ZeroPadding{d}": {"padding": 1}},
        {f"Cropping{d}": {"cropping": 1}},
        {f"AveragePooling{d}": {"pool_size": 2}},
        {f"SpatialDropout{d}": {"rate": 0.0}},
        {f"Conv{d}": {"filters": 5, "kernel_size": 2, "use_bias": False, "activation": "tanh"}},
        {f"GlobalAveragePooling{d}": {}},
        {"Dense": {"units": OUTPUTS}},
    ]
    if rank < 3:
        layers[3:3] = [
            {f"SeparableConv{d}": {"filters": 5, "kernel_size": 3, "padding": "same"}},
            {f"DepthwiseConv{d}": {"kernel_size": 3, "depth_multiplier": 2, "padding": "same"}},
            {"LayerNormalization": {}},
        ]
    if rank == 1:
        layers[-2] = {"GlobalMaxPooling1D": {}}
    return {"input": [*size, 2], "layers": layers}


DENSE = {
    "input": [6],
    "layers": [
        {"Normalization": {}},
        {"Normalization": {"mean": [0.5, 1, 0, -1, 2, 0.25], "variance": [2, 1, 0.5, 1, 3, 1]}},
        {"Dense": {"units": 8, "activation": "tanh"}},
        {"RMSNormalization": {}},
        {"Reshape": {"target_shape": [2, 4]}},
        {"Permute": {"dims": [2, 1]}},
        {"Dense": {"units": 5, "use_bias": False}},
        {"LeakyReLU": {}},
        {"ELU": {}},
        {"PReLU": {"shared_axes": [1]}},
        {"UnitNormalization": {}},
        {"Dropout": {"rate": 0.0}},
        {"AlphaDropout": {"rate": 0.0}},
        {"GaussianDropout": {"rate": 0.0}},
        {"GaussianNoise": {"stddev": 0.0}},
        {"Flatten": {}},
        {"BatchNormalization": {"center": False}},
        {"Activation": {"activation": "sigmoid"}},
        {"Identity": {}},
        {"Softmax": {}},
        {"RepeatVector": {"n": 2}},
        {"EinsumDense": {"equation": "abc,cde->abde", "output_shape": [2, 3, 4], "bias_axes": "de"}},
        {"EinsumDense": {"equation": "...de,def->...f", "output_shape": 6, "activation": "tanh"}},
        {"ReLU": {}},
        {"Flatten": {}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

# Keras reads no Rescaling that does not say its offset.
RESCALED = {
    "input": [3, 4],
    "layers": [
        {"Rescaling": {"scale": 0.5}},
        {"TimeDistributed": {"layer": {"Rescaling": {"scale": [2.0, -1.0, 0.5, 1.5]}}}},
        {"Flatten": {}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

WORDS = {
    "input": {"shape": [5], "dtype": "int32"},
    "layers": [
        {"Embedding": {"input_dim": 11, "output_dim": 6}},
        {"EinsumDense": {"equation": "abc,cd->abd", "output_shape": [5, 4], "bias_axes": "d"}},
        {"LayerNormalization": {}},
        {"GlobalAveragePooling1D": {}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

# Of sequences of which some steps do not count.
PADDED = {
    "input": {"shape": [5], "dtype": "int32"},
    "layers": [
        {"Embedding": {"name": "words", "input_dim": 11, "output_dim": 6, "mask_zero": True}},
        {"Dense": {"name": "keys", "units": 6}},
        {
            "Attention": {
                "name": "dots",
                "use_scale": True,
                "use_causal_mask": True,
                "inputs": ["words", "keys"],
            }
        },
        {"Attention": {"name": "sums", "score_mode": "concat", "inputs": ["dots", "keys", "words"]}},
        {"AdditiveAttention": {"name": "weighted", "inputs": ["words", "sums"]}},
        {"Masking": {"name": "masking"}},
        {"GlobalAveragePooling1D": {}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

POSITIONS = {
    "input": {"shape": [5], "dtype": "int32"},
    "layers": [
        {
            "TokenAndPositionEmbedding": {
                "name": "tokens",
                "vocabulary_size": 11,
                "sequence_length": 7,
                "embedding_dim": 6,
            }
        },
        {"PositionEmbedding": {"name": "learned", "sequence_length": 5, "initializer": "ones"}},
        {"SinePositionEncoding": {"name": "sines", "inputs": ["tokens"]}},
        {"Add": {"name": "sum", "inputs": ["tokens", "learned", "sines"]}},
        {"RotaryEmbedding": {"name": "turned", "rope_type": "dynamic", "scaling_factor": 2.0}},
        {"Dense": {"name": "mixed", "units": 6, "activation": "tanh"}},
        {"GlobalAveragePooling1D": {}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

HEADS = {
    "input": {"shape": [5], "dtype": "int32"},
    "layers": [
        {"Embedding": {"name": "words", "input_dim": 11, "output_dim": 6}},
        {
            "MultiHeadAttention": {
                "name": "heads",
                "num_heads": 2,
                "key_dim": 3,
                "use_causal_mask": True,
                "use_gate": True,
                "inputs": ["words", "words"],
            }
        },
        {
            "GroupQueryAttention": {
                "name": "groups",
                "head_dim": 3,
                "num_query_heads": 4,
                "num_key_value_heads": 2,
                "use_bias": False,
                "inputs": ["heads", "words", "heads"],
            }
        },
        {"GlobalAveragePooling1D": {}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

# Not for Adam: the bias of a key moves all scores of a query alike, so its gradient is but rounding.
TRANSFORMER = {
    "input": {"shape": [5], "dtype": "int32"},
    "layers": [
        {"Embedding": {"name": "words", "input_dim": 11, "output_dim": 6}},
        {"TransformerEncoder": {"name": "read", "intermediate_dim": 7, "num_heads": 2}},
        {
            "TransformerDecoder": {
                "name": "write",
                "intermediate_dim": 5,
                "num_heads": 3,
                "activation": "gelu",
                "layer_norm_epsilon": 0.001,
                "kernel_initializer": "he_normal",
                "normalize_first": True,
                "inputs": {"decoder_sequence": "words", "encoder_sequence": "read"},
            }
        },
        {
            "TransformerDecoder": {
                "name": "alone",
                "intermediate_dim": 4,
                "num_heads": 1,
                "use_causal_mask": False,
            }
        },
        {"GlobalAveragePooling1D": {}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

# A table that is used in both directions, and one with a table of its own for the way back.
TIED = {
    "input": {"shape": [5], "dtype": "int32"},
    "layers": [
        {"ReversibleEmbedding": {"name": "words", "input_dim": 11, "output_dim": 6}},
        {"Dense": {"name": "hidden", "units": 6, "activation": "tanh"}},
        {"use": {"layer": "words", "name": "logits", "reverse": True, "inputs": ["hidden"]}},
        {
            "ReversibleEmbedding": {
                "name": "others",
                "input_dim": 11,
                "output_dim": 6,
                "tie_weights": False,
                "logit_soft_cap": 2.0,
                "inputs": ["input"],
            }
        },
        {"use": {"layer": "others", "name": "capped", "reverse": True, "inputs": ["others"]}},
        {"Concatenate": {"name": "both", "inputs": ["logits", "capped"]}},
        {"GlobalAveragePooling1D": {}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

# The order of the list is not that of Keras.
BRANCHES = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "late", "units": 5}},
        {"Dense": {"name": "first", "units": 5, "inputs": "input"}},
        {"Dense": {"name": "second", "units": 5}},
        {"Dense": {"name": "shared", "units": 5}},
        {"use": {"layer": "shared", "name": "again", "inputs": "late"}},
        {"Add": {"name": "add", "inputs": ["shared", "again"]}},
        {"Average": {"name": "average", "inputs": ["late", "second"]}},
        {"Maximum": {"name": "maximum", "inputs": ["add", "average"]}},
        {"Minimum": {"name": "minimum", "inputs": ["add", "first"]}},
        {"Multiply": {"name": "multiply", "inputs": ["maximum", "second"]}},
        {"Subtract": {"name": "subtract", "inputs": ["minimum", "late"]}},
        {"Concatenate": {"name": "all", "inputs": ["multiply", "subtract"]}},
        {"Dense": {"name": "out", "units": OUTPUTS}},
    ],
}

BLOCKS = {
    "input": [6, 5, 2],
    "layers": [
        {"unit": {"name": "stem"}},
        {"residual": {"name": "stage_1"}},
        {"residual": {"name": "stage_2"}},
        {"GlobalMaxPooling2D": {}},
        {"Dense": {"name": "head", "units": OUTPUTS}},
    ],
    "blocks": {
        "unit": {
            "layers": [
                {"Conv2D": {"filters": 4, "kernel_size": 3, "padding": "same", "use_bias": False}},
                {"BatchNormalization": {"name": "norm"}},
            ]
        },
        "residual": {
            "layers": [
                {"unit": {"name": "a"}},
                {"ReLU": {"name": "relu"}},
                {"unit": {"name": "b"}},
                {"Add": {"name": "sum", "inputs": ["b", "input"]}},
            ]
        },
    },
}

# Layers that Keras has for its applications alone; its StochasticDepth does not train on JAX.
APPLICATIONS = {
    "input": [9, 8, 4],
    "layers": [
        {"Conv2D": {"name": "features", "filters": 4, "kernel_size": 3, "padding": "same"}},
        {"LayerScale": {"name": "factors", "init_values": 0.5, "projection_dim": 4}},
        {"CustomScaleLayer": {"name": "sum", "scale": 0.2, "inputs": ["input", "factors"]}},
        {"GlobalAveragePooling2D": {"name": "means"}},
        {"Dense": {"name": "out", "units": OUTPUTS}},
    ],
}

# Operations are no layers: Keras writes them in config.json alone.
OPERATIONS = {
    "input": [6, 4],
    "layers": [
        {"Dense": {"name": "features", "units": 5, "activation": "tanh"}},
        {"GetItem": {"name": "first", "key": ":, 0"}},
        {"GetItem": {"name": "others", "key": "..., 1:-1:2, None, ::2", "inputs": ["features"]}},
        {"Roll": {"name": "turned", "shift": [1, -1], "axis": [1, 3]}},
        {"Max": {"name": "most", "axis": [1, 2]}},
        {"Dense": {"name": "gate", "units": 5, "activation": "sigmoid", "inputs": ["most"]}},
        {"Power": {"name": "weights", "inputs": {"x1": "gate", "x2": "gate"}}},
        {"Divide": {"name": "ratio", "inputs": ["first", "weights"]}},
        {"Power": {"name": "squares", "x2": 2}},
        {"Power": {"name": "powers", "x1": 1.5}},
        {"Divide": {"name": "inverse", "x1": 3}},
        {"Divide": {"name": "parts", "x2": 2.5}},
        {"Clip": {"name": "clipped", "x_min": 0.01, "x_max": None}},
        {"Log": {"name": "logs"}},
        {"StopGradient": {"name": "fixed", "inputs": ["gate"]}},
        {"Multiply": {"name": "product", "inputs": ["logs", "fixed"]}},
        {"Sum": {"name": "total", "axis": -1, "keepdims": True}},
        {"Subtract": {"name": "distances", "inputs": ["product", "total"]}},
        {"Abs": {"name": "sizes"}},
        {"Erf": {"name": "bounded"}},
        {"scaled": {"name": "positive"}},
        {"Dense": {"name": "out", "units": OUTPUTS}},
    ],
    # A chain, but not one of layers.
    "blocks": {
        "scaled": {
            "layers": [
                {"Dense": {"name": "logs", "units": 4}},
                {"Exp": {"name": "numbers"}},
                {"Dense": {"name": "mixed", "units": 4, "activation": "tanh"}},
            ]
        }
    },
}

SGD = {"SGD": {"learning_rate": 0.01, "momentum": 0.5}}
# case -> model, optimizer
CASES = {
    "applications": (APPLICATIONS, SGD),
    "images_1d": (images(1), SGD),
    "images_2d": (images(2), SGD),
    "images_3d": (images(3), SGD),
    "dense": (DENSE, {"SGD": {"learning_rate": 0.05}}),
    "rescaled": (RESCALED, SGD),
    "words": (WORDS, {"Adam": {"learning_rate": 0.01}}),
    "padded": (PADDED, {"Adam": {"learning_rate": 0.01}}),
    "positions": (POSITIONS, {"Adam": {"learning_rate": 0.01}}),
    "heads": (HEADS, {"Adam": {"learning_rate": 0.01}}),
    "transformer": (TRANSFORMER, {"SGD": {"learning_rate": 0.05, "momentum": 0.5}}),
    "tied": (TIED, {"Adam": {"learning_rate": 0.01}}),
    "branches": (BRANCHES, {"Adam": {"learning_rate": 0.01, "amsgrad": True}}),
    "blocks": (BLOCKS, SGD),
    "operations": (OPERATIONS, SGD),
    "recurrent": (RECURRENT, {"Adam": {"learning_rate": 0.01}}),
    "states": (STATES, {"Adam": {"learning_rate": 0.01}}),
    "adam": (BRANCHES, {"Adam": {"learning_rate": 0.01}}),
    "adamw": (BRANCHES, {"AdamW": {"learning_rate": 0.01, "weight_decay": 0.1}}),
    "schedule_free": (BRANCHES, {"ScheduleFreeAdamW": {"learning_rate": 0.01, "warmup_steps": 5}}),
    "rmsprop": (
        BRANCHES,
        {"RMSprop": {"learning_rate": 0.01, "momentum": 0.5, "centered": True}},
    ),
    "adadelta": (BRANCHES, {"Adadelta": {"learning_rate": 1.0}}),
    "adafactor": (WORDS, {"Adafactor": {"learning_rate": 0.05}}),
    "adafactor_scaled": (
        WORDS,
        {"LossScaleOptimizer": {"inner_optimizer": {"Adafactor": {}}, "initial_scale": 1024.0}},
    ),
    "adagrad": (BRANCHES, {"Adagrad": {"learning_rate": 0.05}}),
    "adamax": (BRANCHES, {"Adamax": {"learning_rate": 0.01}}),
    "ftrl": (BRANCHES, {"Ftrl": {"learning_rate": 0.05, "beta": 0.1}}),
    "lamb": (BRANCHES, {"Lamb": {"learning_rate": 0.01}}),
    "lion": (BRANCHES, {"Lion": {"learning_rate": 0.003}}),
    "muon": (PADDED, {"Muon": {"learning_rate": 0.01}}),
    "nadam": (BRANCHES, {"Nadam": {"learning_rate": 0.01}}),
    "accumulate": (BRANCHES, {"Adam": {"learning_rate": 0.01, "gradient_accumulation_steps": 3}}),
    "scaled": (
        BRANCHES,
        {
            "LossScaleOptimizer": {
                "inner_optimizer": {"Adam": {"learning_rate": 0.01}},
                "initial_scale": 1024.0,
                "dynamic_growth_steps": 4,
            }
        },
    ),
    "schedule": (
        BRANCHES,
        {"Adam": {"learning_rate": {"CosineDecay": {"initial_learning_rate": 0.01, "decay_steps": 9}}}},
    ),
}
FIXTURES = ["images_2d", "branches", "blocks", "recurrent", "scaled", "adafactor"]
