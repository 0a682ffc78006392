#!/usr/bin/env python3
"""Records metrics of Keras 3 that are no means over samples: tests/fixtures/metrics/<case>.{yaml,npz}.

Each case is a metric, as Meshwork's files say it, and the arrays

    y<i>, p<i>        labels and predictions of batch i
    w<i>              weights of its samples, where the case has them
    result            after all batches

Needs keras, jax (CPU) and PyYAML. Usage: make_metric_fixtures.py [tests/fixtures/metrics]
"""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"

import keras
import numpy as np
import yaml

from make_keras_fixtures import write_npz

SEED = 20261128
BATCHES = [7, 4, 9]


def binary(rng, samples):
    """A label of each sample, and probabilities, some of which are thresholds."""
    y = rng.integers(0, 2, (samples, 1))
    p = np.clip(0.3 * y + rng.uniform(-0.1, 0.9, (samples, 1)), 0, 1)
    return y, np.where(rng.uniform(size=p.shape) < 0.3, np.round(p, 1), p)


def logits(rng, samples):
    y = rng.integers(0, 2, (samples, 1))
    return y, 2 * y - 1 + rng.normal(scale=2, size=y.shape)


def labels(rng, samples):
    y = rng.integers(0, 2, (samples, 3))
    return y, np.clip(0.4 * y + rng.uniform(-0.1, 0.8, y.shape), 0, 1)


def one_hot(rng, samples):
    y = np.eye(4)[rng.integers(0, 4, samples)]
    p = y + rng.uniform(0, 2, y.shape)
    return y, p / p.sum(axis=-1, keepdims=True)


def numbers(rng, samples):
    y = 5 + rng.normal(size=(samples, 3))
    return y, y + rng.normal(scale=0.5, size=y.shape)


def pixels(rng, samples):
    """Classes of the pixels of small images, one of which is none, and their probabilities."""
    y = rng.integers(0, 4, (samples, 2, 3))
    p = np.eye(4)[y] + rng.uniform(0, 2, (*y.shape, 4))
    return y, p / p.sum(axis=-1, keepdims=True)


def fractions(rng, samples):
    """Classes of pixels, some of them predicted by a number near them, and below 0."""
    y = rng.integers(0, 3, (samples, 2, 3))
    return y, np.where(rng.uniform(size=y.shape) < 0.5, y, rng.uniform(-0.9, 3, y.shape))


def mask(rng, samples):
    """Whether a pixel belongs to the object, and how likely that is."""
    y = rng.integers(0, 2, (samples, 2, 3))
    return y, np.clip(0.4 * y + rng.uniform(0, 0.7, y.shape), 0, 1)


# name -> (metric, arguments, data, whether samples have weights)
CASES = {
    "auc": ("AUC", {}, binary, False),
    "auc_weighted": ("AUC", {}, binary, True),
    "auc_few": ("AUC", {"num_thresholds": 11}, binary, False),
    "auc_minoring": ("AUC", {"num_thresholds": 11, "summation_method": "minoring"}, binary, False),
    "auc_majoring": ("AUC", {"num_thresholds": 11, "summation_method": "majoring"}, binary, True),
    "auc_pr": ("AUC", {"curve": "PR"}, binary, False),
    "auc_pr_majoring": (
        "AUC",
        {"curve": "PR", "num_thresholds": 21, "summation_method": "majoring"},
        binary,
        True,
    ),
    "auc_labels": ("AUC", {}, labels, True),
    "auc_multi_label": ("AUC", {"multi_label": True, "num_labels": 3}, labels, False),
    "auc_pr_multi_label": ("AUC", {"curve": "PR", "multi_label": True}, labels, True),
    "auc_logits": ("AUC", {"from_logits": True}, logits, False),
    "auc_thresholds": ("AUC", {"thresholds": [0.9, 0.1, 0.3, 0.35, 0.6]}, binary, True),
    "auc_even_thresholds": ("AUC", {"thresholds": [0.1 * i for i in range(1, 10)]}, binary, False),
    "auc_pr_thresholds": (
        "AUC",
        {"curve": "PR", "multi_label": True, "thresholds": [0.0, 0.2, 0.25, 0.7, 1.0]},
        labels,
        False,
    ),
    "f1_binary": ("F1Score", {"threshold": 0.5}, binary, False),
    "f1_macro": ("F1Score", {"average": "macro"}, one_hot, False),
    "f1_micro": ("F1Score", {"average": "micro", "threshold": 0.4}, labels, True),
    "f1_weighted": ("F1Score", {"average": "weighted"}, one_hot, True),
    "fbeta_macro": ("FBetaScore", {"average": "macro", "beta": 2.0, "threshold": 0.3}, labels, False),
    "true_positives": ("TruePositives", {}, labels, False),
    "true_negatives": ("TrueNegatives", {"thresholds": 0.3}, labels, True),
    "false_positives": ("FalsePositives", {"thresholds": 0.2}, binary, False),
    "false_negatives": ("FalseNegatives", {}, binary, True),
    "r2": ("R2Score", {}, numbers, False),
    "r2_variance": (
        "R2Score",
        {"class_aggregation": "variance_weighted_average"},
        numbers,
        True,
    ),
    "mean_iou": ("MeanIoU", {"num_classes": 4, "sparse_y_pred": False}, pixels, False),
    "mean_iou_ignore": (
        "MeanIoU",
        {"num_classes": 6, "sparse_y_pred": False, "ignore_class": 2},
        pixels,
        False,
    ),
    "mean_iou_one_hot": (
        "MeanIoU",
        {"num_classes": 4, "sparse_y_true": False, "sparse_y_pred": False},
        one_hot,
        False,
    ),
    "mean_iou_fractions": ("MeanIoU", {"num_classes": 3}, fractions, False),
    "iou": (
        "IoU",
        {"num_classes": 4, "target_class_ids": [1, 3], "sparse_y_pred": False},
        pixels,
        False,
    ),
    "iou_absent": (
        "IoU",
        {"num_classes": 6, "target_class_ids": [0, 5], "sparse_y_pred": False, "ignore_class": 2},
        pixels,
        False,
    ),
    "binary_iou": ("BinaryIoU", {}, mask, False),
    "binary_iou_object": ("BinaryIoU", {"target_class_ids": [1], "threshold": 0.3}, mask, False),
    "one_hot_iou": ("OneHotIoU", {"num_classes": 4, "target_class_ids": [0, 2]}, one_hot, False),
    "one_hot_mean_iou": ("OneHotMeanIoU", {"num_classes": 4}, one_hot, False),
    "precision_at_recall": ("PrecisionAtRecall", {"recall": 0.7}, binary, False),
    "precision_at_recall_class": (
        "PrecisionAtRecall",
        {"recall": 0.5, "num_thresholds": 11, "class_id": 2},
        labels,
        True,
    ),
    "precision_at_recall_last_class": (
        "PrecisionAtRecall",
        {"recall": 0.5, "num_thresholds": 11, "class_id": -1},
        labels,
        False,
    ),
    "recall_at_precision": ("RecallAtPrecision", {"precision": 0.6}, labels, True),
    "recall_at_precision_never": ("RecallAtPrecision", {"precision": 1.0}, logits, False),
    "sensitivity_at_specificity": (
        "SensitivityAtSpecificity",
        {"specificity": 0.5, "num_thresholds": 21},
        binary,
        True,
    ),
    "specificity_at_sensitivity": ("SpecificityAtSensitivity", {"sensitivity": 0.8}, labels, False),
}


def run(name, case):
    kind, args, draw, has_weights = case
    rng = np.random.default_rng([SEED, *name.encode()])
    metric = getattr(keras.metrics, kind)(**args)
    arrays = {}
    for i, samples in enumerate(BATCHES):
        y, p = (array.astype(np.float32) for array in draw(rng, samples))
        w = rng.choice([0.0, 0.5, 1.0, 2.5], samples).astype(np.float32) if has_weights else None
        metric.update_state(y, p, sample_weight=w)
        arrays |= {f"y{i}": y, f"p{i}": p} | ({} if w is None else {f"w{i}": w})
    arrays["result"] = np.asarray(metric.result(), np.float32).reshape(-1)
    assert arrays["result"].shape == (1,) and np.isfinite(arrays["result"][0]), name
    return {kind: args}, arrays


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/fixtures/metrics"
    os.makedirs(folder, exist_ok=True)
    for name, case in CASES.items():
        metric, arrays = run(name, case)
        with open(os.path.join(folder, name + ".yaml"), "w") as file:
            file.write(yaml.dump(metric, sort_keys=False, default_flow_style=None))
        write_npz(os.path.join(folder, name + ".npz"), arrays)


if __name__ == "__main__":
    main()
