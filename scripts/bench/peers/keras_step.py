#!/usr/bin/env python3
"""Times training steps, or one whole epoch, of a workload in Keras on JAX: compiled fit, fed from
memory. Prints one JSON object."""

import argparse
import json
import os
import resource
import statistics
import sys
import time

os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import keras  # noqa: E402
from keras import layers  # noqa: E402

import peer_data  # noqa: E402


def mlp():
    return keras.Sequential([keras.Input((28, 28)), layers.Flatten(),
                             layers.Dense(128, activation="relu"), layers.Dense(10)])


def wide():
    return keras.Sequential([keras.Input((28, 28)), layers.Flatten(),
                             layers.Dense(4096, activation="relu"),
                             layers.Dense(4096, activation="relu"), layers.Dense(10)])


def convnet():
    def layer(filters, **arguments):
        return [layers.Conv2D(filters, use_bias=False, **arguments),
                layers.BatchNormalization(scale=False, center=True), layers.ReLU()]

    return keras.Sequential([
        keras.Input((28, 28, 1)), *layer(12, kernel_size=3, padding="same"),
        *layer(24, kernel_size=6, strides=2),
        *layer(32, kernel_size=6, padding="same", strides=2, name="large_k"),
        layers.GlobalAveragePooling2D(), layers.Dense(256, activation="relu"), layers.Dropout(0.5),
        layers.Dense(10)])


def resnet20():
    def convolution(x, filters, size=3, stride=1):
        x = layers.Conv2D(filters, size, stride, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    inputs = keras.Input((28, 28, 1))
    x = layers.ReLU()(convolution(inputs, 16))
    for filters, first_stride in (16, 1), (32, 2), (64, 2):
        for stride in first_stride, 1, 1:
            shortcut = x if stride == 1 else convolution(x, filters, 1, stride)
            main = layers.ReLU()(convolution(x, filters, 3, stride))
            x = layers.ReLU()(layers.Add()([convolution(main, filters), shortcut]))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(10)(x))


class Positions(layers.Layer):
    """x + a learned table [steps, features]."""

    def build(self, shape):
        self.table = self.add_weight(shape=shape[1:], name="embeddings",
                                     initializer=keras.initializers.RandomNormal(stddev=0.02))

    def call(self, x):
        return x + keras.ops.cast(self.table, x.dtype)


def transformer(x, heads, hidden, bias, epsilon, causal=False, dropout=0.0):
    """A block of configs/bench_gpt.yaml or vit.yaml."""
    def dropped(y):
        return layers.Dropout(dropout)(y) if dropout > 0 else y

    width = x.shape[-1]
    y = layers.LayerNormalization(epsilon=epsilon, center=bias)(x)
    y = layers.MultiHeadAttention(heads, width // heads, use_bias=bias,
                                  dropout=dropout)(y, y, use_causal_mask=causal)
    x = layers.Add()([x, dropped(y)])
    y = layers.LayerNormalization(epsilon=epsilon, center=bias)(x)
    y = layers.Dense(hidden, use_bias=bias, activation="gelu")(y)
    return layers.Add()([x, dropped(layers.Dense(width, use_bias=bias)(y))])


def gpt(depth=6, heads=6, width=384, context=256, tokens=65):
    inputs = keras.Input((context,), dtype="int32")
    characters = layers.ReversibleEmbedding(
        tokens, width, embeddings_initializer=keras.initializers.RandomNormal(stddev=0.02),
        reverse_dtype=keras.config.dtype_policy().compute_dtype)
    x = Positions()(characters(inputs))
    for _ in range(depth):
        x = transformer(x, heads, 4 * width, False, 1e-5, causal=True)
    x = layers.LayerNormalization(epsilon=1e-5, center=False)(x)
    return keras.Model(inputs, characters(x, reverse=True))


def vit():
    inputs = keras.Input((28, 28, 1))
    x = layers.Reshape((49, 64))(layers.Conv2D(64, 4, 4)(inputs))
    x = layers.Dropout(0.1)(Positions()(x))
    for _ in range(4):
        x = transformer(x, 4, 2 * 64, True, 1e-6, dropout=0.1)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(x))
    return keras.Model(inputs, layers.Dense(10)(x))


def resnet50():
    def convolution(x, filters, size=3, stride=1):
        x = layers.Conv2D(filters, size, stride, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    inputs = keras.Input((224, 224, 3))
    x = layers.ReLU()(convolution(inputs, 64, 7, 2))
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    for filters, depth, first_stride in (64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2):
        for i in range(depth):
            stride = first_stride if i == 0 else 1
            shortcut = convolution(x, 4 * filters, 1, stride) if i == 0 else x
            main = layers.ReLU()(convolution(x, filters, 1))
            main = layers.ReLU()(convolution(main, filters, 3, stride))
            x = layers.ReLU()(layers.Add()([convolution(main, 4 * filters, 1), shortcut]))
    return keras.Model(inputs, layers.Dense(1000)(layers.GlobalAveragePooling2D()(x)))


MODELS = {"mlp": mlp, "wide": wide, "convnet": convnet, "resnet20": resnet20, "gpt": gpt,
          "vit": vit, "resnet50": resnet50, "gpt2": lambda: gpt(12, 12, 768, 1024, 50257)}

WEIGHT_DECAY = {"gpt": 0.1, "gpt2": 0.1, "vit": 0.05}  # of AdamW


def optimizer(workload):
    if workload in ("resnet20", "resnet50"):
        return keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True, weight_decay=0.0005)
    if workload in WEIGHT_DECAY:
        return keras.optimizers.AdamW(0.001, weight_decay=WEIGHT_DECAY[workload])
    return keras.optimizers.Adam(0.001)


class Clock(keras.callbacks.Callback):
    """Seconds of every epoch."""

    def __init__(self):
        super().__init__()
        self.seconds = []

    def on_epoch_begin(self, epoch, logs=None):
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(time.perf_counter() - self.start)


def run(model, data, batch, steps, epochs):
    """Seconds of a step in each of so many epochs of so many steps."""
    clock = Clock()
    inputs, labels = data
    steps = min(steps, len(inputs) // batch)
    model.fit(inputs[:steps * batch], labels[:steps * batch], batch_size=batch, epochs=epochs,
              verbose=0, callbacks=[clock])
    return [seconds / steps for seconds in clock.seconds]


def time_steps(model, data, batch, seconds):
    run(model, data, batch, 3, 1)
    once = run(model, data, batch, 3, 1)[0]
    epochs = min(5, max(3, round(seconds / once)))
    # The first epoch begins before the program of a fit is ready.
    return run(model, data, batch, max(1, round(seconds / epochs / once)), epochs + 1)[1:]


def fit(model, data, batch, steps):
    """An epoch with validation, or so many steps, then the weights to a file."""
    images, labels = data
    if steps:
        model.fit(images[:steps * batch], labels[:steps * batch], batch_size=batch, verbose=0)
        return
    log = model.fit(images, labels, batch_size=batch, verbose=0,
                    validation_data=peer_data.load("mlp", "t10k"))
    model.save_weights("/tmp/keras_step.weights.h5")
    os.remove("/tmp/keras_step.weights.h5")
    print(f"accuracy {log.history['val_accuracy'][-1]:.4f}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=MODELS)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--devices", type=int, default=1,
                        help="virtual devices that share the batch; XLA_FLAGS must make them")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--together", type=int, default=1, help="steps of one call")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--fit", type=int, metavar="STEPS",
                        help="train so many steps instead, 0 for an epoch, and exit")
    arguments = parser.parse_args()
    keras.utils.set_random_seed(1337)
    if arguments.bf16:
        keras.config.set_dtype_policy("mixed_bfloat16")
    if arguments.devices > 1:
        devices = keras.distribution.list_devices("cpu")
        assert len(devices) == arguments.devices, devices
        keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    model = MODELS[arguments.workload]()
    model.compile(optimizer=optimizer(arguments.workload), metrics=["accuracy"], jit_compile=True,
                  steps_per_execution=arguments.together,
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = peer_data.load(arguments.workload)
    if arguments.fit is not None:
        fit(model, data, arguments.batch, arguments.fit)
        return
    samples = time_steps(model, data, arguments.batch, arguments.seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"step": statistics.median(samples), "samples": samples,
                      "peak_resident_bytes": peak}))


main()
