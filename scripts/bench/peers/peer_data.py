"""What the peers train on, as NumPy arrays: as much and of the same kind as Meshwork does."""

import numpy

import fashion_mnist


def load(workload, part="train"):
    """Inputs and labels: images and their classes, or windows of 256 random tokens."""
    if workload != "gpt":
        return fashion_mnist.load(part)
    tokens = numpy.random.default_rng(1337).integers(0, 65, (2, 512, 256), numpy.int32)
    return tokens[0], tokens[1]
