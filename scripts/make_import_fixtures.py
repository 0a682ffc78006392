#!/usr/bin/env python3
"""Writes models that Keras 3 has saved, for tests/cli/import_test.cpp.

    scripts/make_import_fixtures.py [--output tests/fixtures/import] [MODEL ...]

Each is a folder with `model.keras.gz`, an array for each input, and `expected_0.npy`, `expected_1.npy`, ..: what
its outputs predict. Needs keras and jax.
"""

import argparse
import gzip
import os
import pathlib
import tempfile

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import keras
import numpy as np
from keras import layers, ops
from keras.src.applications.convnext import LayerScale, StochasticDepth
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

SAMPLES = 6


def heads():
    """Two inputs, two outputs, operations with numbers, an activation that is a layer."""
    image = keras.Input((8, 7, 2), name="image")
    size = keras.Input((3,), name="size")
    x = layers.Conv2D(4, 3, strides=2, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-4))(image)
    x = layers.BatchNormalization(momentum=0.9)(x)
    x = layers.LeakyReLU(negative_slope=0.2)(x)
    x = layers.Concatenate()([layers.Flatten(name="features")(x), size])
    x = ops.tanh(2.0 * (x / 4.0 - 0.5))
    x = ops.square(x)[:, 1:15]
    x = layers.Dense(9, activation=layers.LeakyReLU(0.1), kernel_initializer="he_normal")(x)
    digit = layers.Dense(5, name="digit")(x)
    model = keras.Model([image, size], [digit, layers.Dense(1, use_bias=False, name="height")(x)])
    rate = keras.optimizers.schedules.ExponentialDecay(1e-3, 100, 0.9)
    loss = {"digit": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "height": "mse"}
    model.compile(keras.optimizers.Adam(rate, clipnorm=1.0), loss=loss, metrics={"digit": ["accuracy"]})
    return model


def texts():
    """A Sequential of tokens, with masks and layers around others."""
    model = keras.Sequential(
        [
            keras.Input((10,), dtype="int32", name="tokens"),
            layers.Embedding(20, 6, mask_zero=True),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
            layers.TimeDistributed(layers.Dense(5, activation="tanh")),
            layers.GRU(3),
            layers.Dropout(0.5),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC()])
    return model


def siamese():
    """One tower over two inputs, and a distance."""
    tower = keras.Sequential([keras.Input((12,)), layers.Dense(8, activation="relu"), layers.Dense(4)], name="tower")
    left, right = keras.Input((12,), name="left"), keras.Input((12,), name="right")
    squares = ops.sum(ops.square(layers.Subtract()([tower(left), tower(right)])), axis=-1, keepdims=True)
    distance = ops.sqrt(ops.maximum(squares, 1e-7))
    return keras.Model([left, right], layers.Dense(1, activation="sigmoid", name="same")(distance))


def attention():
    """A block of a transformer, frozen in part."""
    x = keras.Input((6, 8), name="x")
    mixed = layers.MultiHeadAttention(2, 4, name="mixed", trainable=False)(x, x, use_causal_mask=True)
    y = layers.LayerNormalization(epsilon=1e-6)(x + mixed)
    shared = layers.Dense(8, activation="gelu")
    y = shared(shared(y))
    return keras.Model(x, layers.GlobalAveragePooling1D()(y))


def unit(inputs):
    x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(inputs)
    x = layers.BatchNormalization(epsilon=1e-3, momentum=0.999)(x)
    x = layers.ReLU(6.0)(x)
    return layers.Add()([inputs, layers.Conv2D(inputs.shape[-1], 1)(x)])


def nested():
    """Models in models, of mixed precision."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    inside = keras.Input((6, 6, 3))
    block = keras.Model(inside, unit(unit(inside)), name="block")
    image = keras.Input((6, 6, 3), name="image")
    x = layers.GlobalMaxPooling2D()(block(layers.Rescaling(1 / 4)(image)))
    model = keras.Model(image, layers.Dense(4, dtype="float32", name="logits")(x))
    keras.config.set_dtype_policy("float32")
    return model


def translator():
    """An encoder whose states a decoder begins with."""
    source, target = keras.Input((7,), dtype="int32", name="source"), keras.Input((5,), dtype="int32", name="target")
    _, h, c = layers.LSTM(6, return_state=True, name="encoder")(layers.Embedding(20, 4)(source))
    decoder = layers.LSTM(6, return_sequences=True, name="decoder")
    y = decoder(layers.Embedding(20, 5)(target), initial_state=[h, c])
    return keras.Model([source, target], layers.Dense(4)(y))


def masked():
    """Tokens whose masks Keras makes by operations."""
    tokens = keras.Input((7,), dtype="int32", name="tokens")
    x = layers.LSTM(6, return_sequences=True)(layers.Embedding(20, 4, mask_zero=True)(tokens))
    x = layers.GRU(3)(layers.LayerNormalization()(x))
    return keras.Model(tokens, layers.Dense(2)(x))


def adapted():
    """Inputs that are normalized, by their data and by given numbers."""
    rng = np.random.default_rng(3)
    table, image = keras.Input((3,), name="table"), keras.Input((4, 5, 2), name="image")
    columns = layers.Normalization(name="columns")
    columns.adapt(rng.normal([5, -300, 0.01], [2, 40, 0.003], (50, 3)))
    rows = layers.Normalization(axis=(1, 3), name="rows")
    rows.adapt(rng.normal(0.5, 3, (20, 4, 5, 2)))
    given = layers.Normalization(mean=[0.5, -1], variance=[4, 0.25], name="given")
    pooled = layers.GlobalAveragePooling2D()(layers.Multiply()([rows(image), given(image)]))
    y = layers.Dense(1)(layers.Concatenate()([columns(table), pooled]))
    return keras.Model(
        [table, image], layers.Normalization(axis=None, mean=2, variance=9, invert=True, name="price")(y)
    )


def residuals():
    """Layers that Keras has for its applications alone."""
    image = keras.Input((6, 5, 4), name="image")
    x = LayerScale(0.1, 4, name="scale")(layers.Conv2D(4, 3, padding="same")(image))
    x = layers.Add()([image, StochasticDepth(0.25)(x)])
    x = CustomScaleLayer(0.17)([x, layers.Conv2D(4, 1)(x)])
    return keras.Model(image, layers.Dense(3)(layers.GlobalAveragePooling2D()(x)))


def operations():
    """Operations on numbers before and behind a tensor, on constants, and those that move elements."""
    x = keras.Input((3, 4), name="x")
    h = layers.Dense(4, activation="sigmoid")(x)
    h = ops.concatenate([1 - h, 3 / (h + 1), 2.0**h, ops.subtract(x1=1.0, x2=h), h**2, h - 1, h / 4], axis=-1)
    steps = np.arange(1.0, 5.0, dtype="float32")
    h = ops.concatenate([h, ops.maximum(0.5, x), ops.subtract(steps, x * steps)], axis=-1)
    h = ops.transpose(ops.reshape(h, (-1, 3, 6, 6)), (0, 3, 1, 2))
    h = ops.moveaxis(ops.swapaxes(h, 1, -1), 1, 2)
    h = ops.squeeze(ops.expand_dims(ops.amin(h, axis=-1), 2), 2)
    y = layers.Dense(1, activation="sigmoid")(ops.reshape(h, (-1, 18)))
    model = keras.Model(x, y)
    metrics = [
        keras.metrics.BinaryAccuracy(name="acc", threshold=0.4),
        keras.metrics.FalseNegatives(name="fn"),
        keras.metrics.AUC(),
        keras.metrics.AUC(name="prc", curve="PR"),
        keras.metrics.Precision(),
        keras.metrics.R2Score(),
    ]
    model.compile("adam", "binary_crossentropy", metrics=metrics)
    return model


MODELS = {
    model.__name__: model
    for model in (adapted, attention, heads, masked, nested, operations, residuals, siamese, texts, translator)
}


def draw(rng, tensor):
    shape = (SAMPLES, *tensor.shape[1:])
    if tensor.dtype == "int32":
        return rng.integers(0, 20, shape).astype(np.int32)
    return rng.normal(size=shape).astype(np.float32)


def write(name, folder):
    keras.backend.clear_session()
    keras.utils.set_random_seed(7)
    model = MODELS[name]()
    rng = np.random.default_rng(1)
    for variable in model.variables:
        if "seed" not in variable.path and "count" not in variable.path:
            value = np.asarray(variable, dtype=np.float32)
            variable.assign(value + rng.uniform(0.0, 0.1, value.shape).astype(np.float32))
    for layer in model.layers:
        if isinstance(layer, layers.Normalization):
            layer.finalize_state()
    folder.mkdir(parents=True, exist_ok=True)
    inputs = [draw(rng, tensor) for tensor in model.inputs]
    for tensor, array in zip(model.inputs, inputs):
        np.save(folder / f"{tensor.name}.npy", array)
    outputs = model.predict(inputs, verbose=0)
    for i, array in enumerate(outputs if isinstance(outputs, list) else [outputs]):
        np.save(folder / f"expected_{i}.npy", np.asarray(array, dtype=np.float32))
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary) / "model.keras"
        model.save(path)
        with open(folder / "model.keras.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
            packed.write(path.read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("tests/fixtures/import"))
    parser.add_argument("models", nargs="*", choices=[[], *MODELS], metavar="MODEL")
    arguments = parser.parse_args()
    for name in arguments.models or MODELS:
        write(name, arguments.output / name)


if __name__ == "__main__":
    main()
