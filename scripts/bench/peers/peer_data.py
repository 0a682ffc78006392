"""What the peers train on, as NumPy arrays: as much and of the same kind as Meshwork does."""

import numpy

import fashion_mnist

TOKENS = {"gpt": (512, 256, 65), "gpt2": (64, 1024, 50257)}  # windows, their length, vocabulary


def load(workload, part="train"):
    """Inputs and labels: images and their classes, or windows of random tokens."""
    draw = numpy.random.default_rng(1337)
    if workload in TOKENS:
        windows, length, vocabulary = TOKENS[workload]
        tokens = draw.integers(0, vocabulary, (2, windows, length), numpy.int32)
        return tokens[0], tokens[1]
    if workload == "resnet50":
        images = draw.standard_normal((256, 224, 224, 3), numpy.float32)
        return images, draw.integers(0, 1000, 256, numpy.int32)
    return fashion_mnist.load(part)
