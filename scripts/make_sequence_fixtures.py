#!/usr/bin/env python3
"""Records ten steps of Keras 3 on sequences with padding: tests/fixtures/sequences/*.{yaml,npz}.

The files have the form of those of make_keras_fixtures.py. Steps that do not count are rows 0 of an
Embedding, or features that are all the value of a Masking.
Needs keras, jax (CPU) and PyYAML. Usage: make_sequence_fixtures.py [tests/fixtures/sequences]
"""

import sys

from keras_losses import SCCE
from make_keras_fixtures import BATCH, STEPS, write_cases

import numpy as np

SAMPLES = STEPS * BATCH
LENGTH = 6
ROWS = 11
CLASSES = 5
FEATURES = 3
MASKED = -1.0

EMBEDDING = {"Embedding": {"name": "embed", "input_dim": ROWS, "output_dim": 8, "mask_zero": True}}
TAGGER = {
    "input": [LENGTH],
    "layers": [
        EMBEDDING,
        {"LayerNormalization": {"name": "norm"}},
        {"Dense": {"name": "hidden", "units": 8, "activation": "tanh"}},
        {"Add": {"name": "add", "inputs": ["embed", "hidden"]}},
        {"Dense": {"name": "logits", "units": CLASSES}},
    ],
}
# Padding counts, but for labels that say otherwise.
TAGGER_ALL = {
    "input": [LENGTH],
    "layers": [
        {"Embedding": {"name": "embed", "input_dim": ROWS, "output_dim": 8}},
        {"Dense": {"name": "logits", "units": CLASSES}},
    ],
}
CLASSIFIER = {
    "input": [LENGTH],
    "layers": [
        EMBEDDING,
        {"BatchNormalization": {"name": "norm"}},
        {"GlobalAveragePooling1D": {"name": "mean"}},
        {"Dense": {"name": "logits", "units": CLASSES}},
    ],
}
# What is embedded is read, and written from what the reader has come to.
TRANSLATOR = {
    "input": [LENGTH],
    "layers": [
        EMBEDDING,
        {"LSTM": {"name": "read", "units": 6, "return_state": True}},
        {
            "LSTM": {
                "name": "write",
                "units": 6,
                "return_sequences": True,
                "inputs": {"sequences": "embed", "initial_state": ["read/state_h", "read/state_c"]},
            }
        },
        {"Dense": {"name": "logits", "units": CLASSES}},
    ],
}
REGRESSOR = {
    "input": [LENGTH, FEATURES],
    "layers": [
        {"Masking": {"name": "mask", "mask_value": MASKED}},
        {"Dense": {"name": "hidden", "units": 8, "activation": "gelu"}},
        {"Dense": {"name": "out", "units": 2}},
    ],
}

CROSSENTROPY = {SCCE: {"from_logits": True}}
MEAN = "mean_with_sample_weight"
ADAM = {"Adam": {"learning_rate": 0.02}}
# Keras takes weights of whole samples in this shape alone.
BY_SAMPLE = {"sample_weight": [SAMPLES, 1], "weighted_metrics": ["accuracy"]}
BY_STEP = {"sample_weight": [SAMPLES, LENGTH], "weighted_metrics": ["accuracy"]}


def tagger(loss, weights=None):
    return TAGGER, ADAM, {SCCE: {"from_logits": True, **loss}}, ["accuracy"], SAMPLES, weights or {}


def language(metrics, weights=None, **loss):
    return TAGGER_ALL, ADAM, {SCCE: {"from_logits": True, **loss}}, metrics, SAMPLES, weights or {}


def regressor(loss, metrics, weights=None):
    return REGRESSOR, ADAM, loss, metrics, SAMPLES, weights or {}


CASES = {
    "masked_tagger": tagger({}),
    "masked_tagger_sum": tagger({"reduction": "sum"}),
    "masked_tagger_mean": tagger({"reduction": MEAN}),
    "masked_tagger_ignore": tagger({"ignore_class": 2}),
    "masked_tagger_sample_weights": tagger({}, BY_SAMPLE),
    "masked_tagger_step_weights": tagger({}, BY_STEP),
    "masked_tagger_step_weights_mean": tagger({"reduction": MEAN}, BY_STEP),
    "masked_classifier": (CLASSIFIER, ADAM, CROSSENTROPY, ["accuracy"], SAMPLES, {}),
    "masked_translator": (TRANSLATOR, ADAM, CROSSENTROPY, ["accuracy"], SAMPLES, {}),
    "masked_regressor": regressor("mse", ["mae"]),
    "masked_regressor_huber": regressor({"Huber": {"delta": 0.4}}, ["mse", "mae"]),
    "masked_regressor_weighted": regressor(
        {"MeanAbsoluteError": {"reduction": MEAN}},
        [],
        {"sample_weight": [SAMPLES, LENGTH], "weighted_metrics": ["mse"]},
    ),
    "perplexity": language([{"Perplexity": {"from_logits": True}}]),
    "perplexity_masked": language(
        [
            {"Perplexity": {"from_logits": True, "mask_token_id": 2}},
            {SCCE: {"from_logits": True, "ignore_class": 2}},
        ],
        ignore_class=2,
    ),
    "perplexity_step_weights": language(
        [],
        {
            "sample_weight": [SAMPLES, LENGTH],
            "weighted_metrics": [
                {"Perplexity": {"from_logits": True, "mask_token_id": 1}},
                {SCCE: {"from_logits": True, "ignore_class": 2}},
            ],
        },
        reduction=MEAN,
        ignore_class=-1,
    ),
}


def data_of(rng, case):
    """Sequences of one step or more, then padding."""
    model, _, loss, _, samples, _ = case
    hidden = np.arange(LENGTH) >= rng.integers(1, LENGTH + 1, (samples, 1))
    if model is REGRESSOR:
        x = rng.integers(-16, 16, (samples, LENGTH, FEATURES)) / 8 + 1 / 16
        x[hidden] = MASKED
        return x.astype(np.float32), rng.normal(size=(samples, LENGTH, 2)).astype(np.float32)
    x = np.where(hidden, 0, rng.integers(1, ROWS, (samples, LENGTH)))
    shape = (samples, LENGTH) if model in (TAGGER, TAGGER_ALL, TRANSLATOR) else (samples,)
    return x.astype(np.float32), rng.integers(0, CLASSES, shape).astype(np.int32)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/fixtures/sequences"
    write_cases(folder, CASES, data_of=data_of)


if __name__ == "__main__":
    main()
