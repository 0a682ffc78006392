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

    from keras_calls import CALL_ARGUMENTS, add_outputs, call_layer, take_inputs, take_variables
    from keras_calls import make_layer as make_keras_layer
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SAMPLES, BATCH = 24, 8
TOLERANCE = 1e-5


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
        last = add_outputs(values, key, made, call_layer(made, inputs, call))
        known[key] = made
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
    take_variables(made)


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
