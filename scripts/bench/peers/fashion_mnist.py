"""Fashion-MNIST as NumPy arrays, from where Meshwork looks for it."""

import gzip
import os
import pathlib

import numpy


def read(name, header):
    places = [pathlib.Path("/usr/share/datasets/fashion-mnist")]
    if "MESHWORK_DATA" in os.environ:
        places.insert(0, pathlib.Path(os.environ["MESHWORK_DATA"]) / "fashion_mnist")
    for place in places:
        if (place / name).exists():
            with gzip.open(place / name) as file:
                return numpy.frombuffer(file.read(), numpy.uint8, offset=header)
    raise SystemExit(f"{name} is not in {places}; apt install dataset-fashion-mnist")


def load(part):
    """Images [count, 28, 28] in [0, 1] and labels [count] of `part`: train or t10k."""
    images = read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
    labels = read(f"{part}-labels-idx1-ubyte.gz", 8)
    return images.astype(numpy.float32) / numpy.float32(255), labels.astype(numpy.int32)
