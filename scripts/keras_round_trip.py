#!/usr/bin/env python3
"""Takes weights and optimizer state from Keras 3 to Meshwork and back, for every layer.

    scripts/keras_round_trip.py [--meshwork build/src/meshwork] [--fixtures DIR] [CASE ...]

For each case Keras trains a model for a few steps and saves it. Meshwork loads that file and must
give the same outputs; it trains on from there, as Keras does; what it exports then, a fresh Keras
model loads, and must have the same variables, the optimizer's included, and give the same outputs.
The .keras file that it exports Keras loads with layers, optimizer and loss: both train on alike.

--fixtures writes the small cases for tests/cli/interchange_test.cpp instead. Needs keras, keras-hub,
jax (CPU) and h5py; without them it exits with 77, which Meson takes as skipped.
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from keras_round_trip_cases import CASES, FIXTURES, OUTPUTS

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
try:
    import h5py  # noqa: F401: keras saves with it
    import keras
    import numpy as np

    from keras_calls import CALL_ARGUMENTS, call_layer, take_inputs
    from keras_calls import make_layer as make_keras_layer
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SAMPLES, BATCH = 24, 8
TOLERANCE = 1e-5


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

ALL_STEPS = {"units": 4, "return_sequences": True}
RECURRENT = {
    "input": {"shape": [6], "dtype": "int32"},
    "layers": [
        {"Embedding": {"input_dim": 11, "output_dim": 5, "mask_zero": True}},
        {
            "Bidirectional": {
                "layer": {
                    "LSTM": {
                        **ALL_STEPS,
                        "recurrent_activation": "hard_sigmoid",
                        "recurrent_initializer": "glorot_normal",
                        "kernel_regularizer": {"L2": {"l2": 0.001}},
                    }
                }
            }
        },
        {"GRU": ALL_STEPS},
        {"TimeDistributed": {"layer": {"Dense": {"units": 3, "activation": "tanh"}}}},
        {"GRU": {**ALL_STEPS, "reset_after": False, "go_backwards": True}},
        {"LSTM": {**ALL_STEPS, "unit_forget_bias": False, "unroll": True}},
        {
            "Bidirectional": {
                "layer": {"GRU": {**ALL_STEPS, "name": "onwards"}},
                "backward_layer": {"SimpleRNN": {**ALL_STEPS, "go_backwards": True}},
                "merge_mode": "sum",
            }
        },
        {"SimpleRNN": {"units": 4}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

SGD = {"SGD": {"learning_rate": 0.01, "momentum": 0.5}}
# case -> model, optimizer
CASES = {
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
    "recurrent": (RECURRENT, {"Adam": {"learning_rate": 0.01}}),
    "adam": (BRANCHES, {"Adam": {"learning_rate": 0.01}}),
    "adamw": (BRANCHES, {"AdamW": {"learning_rate": 0.01, "weight_decay": 0.1}}),
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


def parts(layer):
    ((name, args),) = layer.items()
    return name, dict(args)


def build_list(layers, values, last, blocks):
    """The layers of a list applied to `values`, by name; gives the output of the last."""
    known = {}
    for layer in layers:
        name, args = parts(layer)
        inputs = take_inputs(args.pop("inputs", None), values, last)
        call = {key: args.pop(key) for key in CALL_ARGUMENTS if key in args}
        if name == "use":
            made = known[args["layer"]]
            key = args["name"]
        else:
            made = make_layer(name, args, last if isinstance(inputs, dict) else inputs[0], blocks)
            key = args.get("name", made.name)
        last = call_layer(made, inputs, call)
        known[key] = made
        values[key] = last
    return last


def make_layer(name, args, inputs, blocks):
    if name not in blocks:
        return make_keras_layer(name, args)
    inner = keras.Input(inputs.shape[1:])
    layers = blocks[name]["layers"]
    if name == "unit":
        made = [make_layer(*parts(layer), None, blocks) for layer in layers]
        return keras.Sequential([inner, *made], name=args["name"])
    return keras.Model(inner, build_list(layers, {"input": inner}, inner, blocks), name=args["name"])


def input_of(model):
    """Shape and dtype."""
    given = model["input"]
    return (given["shape"], given["dtype"]) if isinstance(given, dict) else (given, "float32")


def make_model(model):
    keras.backend.clear_session()
    shape, dtype = input_of(model)
    x = keras.Input(shape, dtype=dtype, name="input")
    is_sequential = "blocks" not in model and all(
        "inputs" not in parts(layer)[1] for layer in model["layers"]
    )
    if is_sequential:
        layers = [make_layer(*parts(layer), None, {}) for layer in model["layers"]]
        return keras.Sequential([x, *layers])
    return keras.Model(x, build_list(model["layers"], {"input": x}, x, model.get("blocks", {})))


def make_optimizer(optimizer):
    name, args = parts(optimizer)
    if "inner_optimizer" in args:
        args["inner_optimizer"] = make_optimizer(args["inner_optimizer"])
    rate = args.get("learning_rate")
    if isinstance(rate, dict):
        schedule, numbers = parts(rate)
        args["learning_rate"] = getattr(keras.optimizers.schedules, schedule)(**numbers)
    return getattr(keras.optimizers, name)(**args)


def compiled(model, optimizer):
    made = make_model(model)
    made.compile(optimizer=make_optimizer(optimizer), loss="mean_squared_error")
    made.optimizer.build(made.trainable_variables)
    return made


def draw(model, seed):
    rng = np.random.default_rng(seed)
    shape, dtype = input_of(model)
    x = rng.normal(size=(SAMPLES, *shape)) if dtype == "float32" else rng.integers(0, 11, (SAMPLES, *shape))
    x = x.astype(dtype)
    return x, rng.normal(size=(SAMPLES, OUTPUTS)).astype(np.float32)


def randomize(made, seed):
    rng = np.random.default_rng(seed)
    for variable in made.variables:
        if "seed" in variable.path:
            continue
        value = np.asarray(variable)
        change = rng.uniform(0.0, 0.2, value.shape).astype(np.float32)
        variable.assign(value + change)


def config_of(model, optimizer):
    return {
        "mesh": {"data": 2},
        "dataset": {
            "name": "drawn",
            "format": "npy",
            "splits": {"train": {"x": "x.npy", "y": "y.npy"}, "test": {"x": "x.npy", "y": "y.npy"}},
        },
        **({"blocks": model["blocks"]} if "blocks" in model else {}),
        "model": {"input": model["input"], "layers": model["layers"]},
        "compile": {"optimizer": optimizer, "loss": "mean_squared_error"},
        "fit": {"batch_size": BATCH, "epochs": 1, "shuffle": False},
        "run_directory": "run",
    }


def train(made, x, y):
    made.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0)


def difference(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(np.max(np.abs(a - b) / (1 + np.abs(b)), initial=0.0))


def prepare(folder, model, optimizer):
    """Everything that Keras gives: the model behind some steps, its file, data, outputs."""
    made = compiled(model, optimizer)
    randomize(made, 7)
    x, y = draw(model, 11)
    train(made, x, y)
    made.save_weights(folder / "theirs.weights.h5")
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    np.save(folder / "expected.npy", made.predict(x, batch_size=BATCH, verbose=0))
    (folder / "c.yaml").write_text(json.dumps(config_of(model, optimizer), indent=1) + "\n")
    return made, x, y


def run_case(meshwork, name):
    model, optimizer = CASES[name]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)

        def call(*words):
            done = subprocess.run([meshwork, *words], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")

        def predicted(source):
            call("predict", "c.yaml", "--from", source, "--output", "p.npy", "--verbose", "0")
            return np.load(folder / "p.npy")

        made, x, y = prepare(folder, model, optimizer)
        found = {"loaded": difference(predicted("theirs.weights.h5"), np.load(folder / "expected.npy"))}
        train(made, x, y)
        call("fit", "c.yaml", "--from", "theirs.weights.h5", "--verbose", "0")
        (checkpoint,) = (folder / "run/checkpoints").iterdir()
        call("export", f"run/checkpoints/{checkpoint.name}", "--output", "ours.weights.h5")
        back = compiled(model, optimizer)
        back.load_weights(folder / "ours.weights.h5")
        found["outputs"] = difference(
            back.predict(x, batch_size=BATCH, verbose=0), predicted(f"run/checkpoints/{checkpoint.name}")
        )
        weights = [v for v in back.variables if "seed" not in v.path]
        theirs = [v for v in made.variables if "seed" not in v.path]
        found["weights"] = max(difference(a, b) for a, b in zip(weights, theirs, strict=True))
        found["state"] = max(
            difference(a, b)
            for a, b in zip(back.optimizer.variables, made.optimizer.variables, strict=True)
        )
        call("export", f"run/checkpoints/{checkpoint.name}", "--output", "ours.keras")
        found["packed"] = difference(predicted("ours.keras"), predicted(f"run/checkpoints/{checkpoint.name}"))
        whole = keras.models.load_model(folder / "ours.keras")
        train(whole, x, y)
        train(back, x, y)
        trained = back.predict(x, batch_size=BATCH, verbose=0)
        found["whole"] = difference(whole.predict(x, batch_size=BATCH, verbose=0), trained)
        whole.save(folder / "theirs.keras")
        found["unpacked"] = difference(predicted("theirs.keras"), trained)
        call("export", f"run/checkpoints/{checkpoint.name}", "--output", "w.npz")
        call("export", "ours.weights.h5", "--config", "c.yaml", "--output", "w.safetensors")
        first = predicted("w.npz")
        found["formats"] = difference(first, predicted("w.safetensors"))
    return found


def write_fixtures(root):
    for name in FIXTURES:
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        prepare(folder, *CASES[name])
        plain = folder / "theirs.weights.h5"
        packed = gzip.compress(plain.read_bytes(), 9, mtime=0)
        (folder / "theirs.weights.h5.gz").write_bytes(packed)
        plain.unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meshwork", default="build/src/meshwork")
    parser.add_argument("--fixtures", type=pathlib.Path)
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    if arguments.fixtures:
        write_fixtures(arguments.fixtures)
        return
    failed = []
    for name in arguments.cases or CASES:
        found = run_case(os.path.abspath(arguments.meshwork), name)
        numbers = ", ".join(f"{key} {value:.1e}" for key, value in found.items())
        is_fine = all(value <= TOLERANCE for value in found.values())
        print(f"{name}: {numbers}{'' if is_fine else '  FAILED'}", flush=True)
        if not is_fine:
            failed.append(name)
    if failed:
        sys.exit(f"more than {TOLERANCE:g} apart: {', '.join(failed)}")
    print(f"{len(arguments.cases or CASES)} cases agree to {TOLERANCE:g} (Keras {keras.__version__})")


if __name__ == "__main__":
    main()
