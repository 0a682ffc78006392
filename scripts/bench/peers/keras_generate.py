#!/usr/bin/env python3
"""Times how keras-hub's GPT-2, of random weights, adds tokens to one, with its cache and greedily.
Prints one JSON object."""

import argparse
import json
import os
import time

os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import keras  # noqa: E402
import keras_hub  # noqa: E402
import numpy as np  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--policy", default="float32")
    for name in "vocabulary", "context", "depth", "heads", "width":
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    keras.config.set_dtype_policy(args.policy)
    backbone = keras_hub.models.GPT2Backbone(
        vocabulary_size=args.vocabulary, num_layers=args.depth, num_heads=args.heads,
        hidden_dim=args.width, intermediate_dim=4 * args.width, dropout=0.0,
        max_sequence_length=args.context)
    model = keras_hub.models.GPT2CausalLM(backbone=backbone, preprocessor=None)
    model.compile(sampler="greedy")
    tokens = np.zeros((1, args.context), "int32")
    given = np.zeros((1, args.context), "bool")
    tokens[:, 0], given[:, 0] = 1, True

    def seconds():
        start = time.perf_counter()
        model.generate({"token_ids": tokens, "padding_mask": given}, stop_token_ids=None)
        return time.perf_counter() - start

    seconds()  # compiles
    print(json.dumps({"tokens": args.context - 1,
                      "seconds": [seconds() for _ in range(args.repeats)]}))


main()
