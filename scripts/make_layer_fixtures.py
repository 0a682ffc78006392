#!/usr/bin/env python3
"""Records single layers of Keras 3, forward and backward: tests/fixtures/layers/calls.{yaml,npz}.

A layer that makes a mask comes with those behind it, which show it.

The YAML file names the cases: each is a model as Meshwork reads it. The arrays of a case are

    <case>/x, dy           its input, and weights for the sum of its output
    <case>/initial/<path>  its variables
    <case>/y               its output
    <case>/dx              gradient of sum(y dy) with respect to x
    <case>/grad/<path>     the same with respect to the trainable variables
    <case>/update/<path>   the other variables after the call, in training

Cases called `training_..` are called in training, the others in inference. Inputs are multiples of
1/16, so that windows of pools hold equal elements, but never 0, where a ReLU has no gradient; those
of an Embedding and its kin are rows of its table. In cases called `mask..` some positions are those that the
layer Masking hides.
    scripts/make_layer_fixtures.py [--output tests/fixtures/layers] [CASE ...]

All cases by default, which takes most of an hour; with names these alone, beside what the files hold of the others.
Needs keras, keras-hub, jax (CPU) and PyYAML.
"""

import argparse
import os

from keras_attention import MASKED
from keras_calls import name_variables, take_variables
from keras_layers import CALLS
from keras_masks import MASKED_OTHER
from make_keras_fixtures import SEED, make_model, write_npz

import jax
import jax.numpy as jnp
import keras
import numpy as np
import yaml

BATCH = 3


def random_variable(rng, name, shape):
    values = rng.integers(-8, 8, shape) / 16 + 1 / 32
    is_positive = name in ("gamma", "moving_variance", "variance")
    return (values + 1 if is_positive else values).astype(np.float32)


def model_of(case):
    shape, layers = case
    named = []
    for layer in layers if isinstance(layers, list) else [layers]:
        ((layer_name, args),) = layer.items()
        named.append({layer_name: {"name": "layer" + str(len(named) or ""), **args}})
    return {"input": shape, "layers": named}


def input_of(rng, name, model):
    shape = [BATCH, *model["input"]]
    ((layer_name, args),) = model["layers"][0].items()
    x = (2 * rng.integers(-16, 16, shape) + 1) / 16
    rows = args.get("input_dim") or args.get("vocabulary_size")
    if rows:
        return rng.integers(0, rows, shape)
    if name.startswith(("mask", "training_mask")):
        # Of every sample a position counts.
        hidden = rng.random(shape[: max(2, len(shape) - 1)]) < 0.4
        hidden[:, 0] = False
        x[hidden] = MASKED
        x[~hidden & (rng.random(hidden.shape) < 0.3)] = MASKED_OTHER
    return x


def run(name, case):
    keras.backend.clear_session()
    rng = np.random.default_rng([SEED, *name.encode()])
    spec = model_of(case)
    model = make_model(spec)
    name_variables(model)
    for layer in spec["layers"]:
        ((_, args),) = layer.items()
        if "lora_alpha" in args:  # which Keras 3.15 forgets where it builds Dense and Embedding
            model.get_layer(args["name"]).lora_alpha = args["lora_alpha"]
    for variable in model.weights:
        variable.assign(random_variable(rng, variable.name, variable.shape))
    take_variables(model)
    x = input_of(rng, name, spec).astype(np.float32)
    dy = (rng.integers(-8, 8, model(x).shape) / 8).astype(np.float32)
    frozen = [v.value for v in model.non_trainable_variables]
    training = name.startswith("training")

    def weighted(weights, x):
        y, rest = model.stateless_call(weights, frozen, x, training=training)
        return jnp.sum(y * dy), (y, rest)

    weights = [v.value for v in model.trainable_variables]
    (_, (y, rest)), grads = jax.value_and_grad(weighted, argnums=(0, 1), has_aux=True)(weights, x)
    arrays = {"x": x, "dy": dy, "y": y, "dx": grads[1]}
    for variable in model.weights:
        arrays[f"initial/{variable.path}"] = variable.value
    for variable, grad in zip(model.trainable_variables, grads[0]):
        arrays[f"grad/{variable.path}"] = grad
    if training and all(layer.trainable for layer in model.layers):
        for variable, value in zip(model.non_trainable_variables, rest):
            arrays[f"update/{variable.path}"] = value
    for key, array in arrays.items():
        assert np.all(np.isfinite(array)), f"{name}: {key} is not finite"
    return {f"{name}/{key}": np.asarray(array, np.float32) for key, array in arrays.items()}


def write_cases(texts, file_name):
    with open(file_name, "w") as file:
        for name, model in texts.items():
            text = yaml.safe_dump(model, sort_keys=False, default_flow_style=True, width=1000)
            quoted = text.strip().replace("'", "''")
            file.write(f"{name}: '{quoted}'\n")


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--output", default="tests/fixtures/layers")
    arguments.add_argument("cases", nargs="*", metavar="CASE", choices=[[], *CALLS])
    given = arguments.parse_args()
    os.makedirs(given.output, exist_ok=True)
    file_name = os.path.join(given.output, "calls.npz")
    before = np.load(file_name) if given.cases else {}
    arrays = {}
    for name, case in CALLS.items():
        if not given.cases or name in given.cases:
            arrays.update(run(name, case))
        else:
            arrays.update({key: before[key] for key in before if key.startswith(name + "/")})
    write_cases({name: model_of(case) for name, case in CALLS.items()}, file_name[:-3] + "yaml")
    write_npz(file_name, arrays)


if __name__ == "__main__":
    main()
