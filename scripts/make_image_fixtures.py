#!/usr/bin/env python3
"""Records what Keras 3 makes of small images: tests/fixtures/images/cases.{yaml,npz}.

cases.yaml lists

    augment   an operation as Meshwork's files write it
    draws     what it draws, or a list for each of the operations that it stands for; without them
              its factors leave nothing to chance
    resize    arguments of keras.ops.image.resize
    image     array that it was given
    mask      array of labels, with the height and width of an image
    result    array that came out

Needs keras, jax (CPU) and PyYAML. Usage: make_image_fixtures.py [tests/fixtures/images]
"""

import io
import os
import sys
import zipfile

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"

import keras
import numpy as np
import yaml

OPERATIONS = [
    ("RandomRotation", {"factor": [0.08, 0.08]}),
    ("RandomRotation", {"factor": [-0.3, -0.3]}),
    ("RandomTranslation", {"height_factor": [0.3, 0.3], "width_factor": [-0.45, -0.45]}),
    ("RandomTranslation", {"height_factor": [-0.25, -0.25], "width_factor": [0.9, 0.9]}),
    ("RandomZoom", {"height_factor": [-0.4, -0.4]}),
    ("RandomZoom", {"height_factor": [0.7, 0.7], "width_factor": [0.21, 0.21]}),
]
FILLS = [
    {},
    {"fill_mode": "constant", "fill_value": 0.625},
    {"fill_mode": "nearest"},
    {"fill_mode": "wrap"},
    {"fill_mode": "reflect", "interpolation": "nearest"},
    {"fill_mode": "constant", "interpolation": "nearest"},
]
# Operation, its arguments, draws, and what Keras makes of these.
COLORS = [
    (
        "RandomBrightness",
        {"factor": [-0.4, 0.2], "value_range": [0, 1]},
        [0.9],
        {"rgb_delta": 0.14},
    ),
    ("RandomBrightness", {"factor": 0.5, "value_range": [0, 2]}, [0.2], {"rgb_delta": -0.6}),
    (
        "RandomContrast",
        {"factor": [0.5, 0.8], "value_range": [0, 1]},
        [0.75],
        {"contrast_factor": 1.475},
    ),
    (
        "RandomContrast",
        {"factor": [0.3, 0.3], "value_range": [0.2, 0.8]},
        [0.1],
        {"contrast_factor": 0.76},
    ),
    ("RandomGrayscale", {"factor": 0.4}, [0.3], True),
    ("RandomGrayscale", {"factor": 0.4}, [0.4], False),
    ("RandomHue", {"factor": 0.6, "value_range": [0, 1]}, [0.2, 0.5], {"factor": [0.15]}),
    (
        "RandomHue",
        {"factor": [0.8, 1.0], "value_range": [-0.5, 2]},
        [0.7, 0.5],
        {"factor": [-0.45]},
    ),
    (
        "RandomSaturation",
        {"factor": [0.2, 0.4], "value_range": [0, 1]},
        [0.5],
        {"factor": [0.3 / 0.7]},
    ),
    (
        "RandomSaturation",
        {"factor": 0.9, "value_range": [0, 1]},
        [0.75],
        {"factor": [0.675 / 0.325]},
    ),
    (
        "RandomShear",
        {"x_factor": 0.4, "y_factor": [0.1, 0.3]},
        [0.1, 0.75, 0.5],
        {"shear_factor": [[0.2, 0.2]]},
    ),
    (
        "RandomShear",
        {"x_factor": [0.2, 0.6], "fill_mode": "constant"},
        [0.9, 0.5, 0.5],
        {"shear_factor": [[-0.4, 0.0]]},
    ),
]
# The same of images that are named.
PIXELS = [
    (
        "Solarization",
        {"addition_factor": [0.1, 0.3], "threshold_factor": 0.8, "value_range": [0, 1]},
        "small",
        [0.5, 0.5],
        {"additions": 0.2 * 255, "thresholds": 0.4 * 255},
    ),
    (
        "Solarization",
        {"addition_factor": [0.2, 0.2], "threshold_factor": [0.5, 0.5], "value_range": [-0.5, 2]},
        "grey",
        [0.9, 0.1],
        {"additions": 0.2 * 255, "thresholds": 0.5 * 255},
    ),
    (
        "Solarization",
        {"value_range": [0, 1]},
        "small",
        [0.9, 0.1],
        {"additions": 0, "thresholds": 0},
    ),
    (
        "RandomPosterization",
        {"factor": 3, "value_range": [0, 1]},
        "coarse",
        [0.1],
        {"shift_factor": np.uint8([5])},
    ),
    (
        "RandomPosterization",
        {"factor": [2, 5], "value_range": [-0.5, 2]},
        "grey",
        [0.99],
        {"shift_factor": np.uint8([3])},
    ),
    (
        "RandomInvert",
        {"factor": [0.4, 0.8], "value_range": [0, 1]},
        "small",
        [0.59],
        {"apply_inversion": np.array([True])},
    ),
    (
        "RandomInvert",
        {"factor": 0.8, "value_range": [0, 1]},
        "grey",
        [0.41],
        {"apply_inversion": np.array([False])},
    ),
    ("AutoContrast", {"value_range": [0, 1]}, "coarse", [], None),
    ("AutoContrast", {"value_range": [-0.5, 2]}, "small", [], None),
    ("Equalization", {"value_range": [0, 1]}, "coarse", [], None),
    ("Equalization", {"value_range": [0, 1], "bins": 52}, "coarse", [], None),
    ("Equalization", {"value_range": [-0.5, 2], "bins": 16}, "grey", [], None),
    (
        "RandomSharpness",
        {"factor": [0.1, 0.5], "value_range": [0, 1]},
        "small",
        [0.5],
        {"factor": np.float32([0.3])},
    ),
    (
        "RandomSharpness",
        {"factor": 1.0, "value_range": [0.1, 0.9]},
        "grey",
        [0.9],
        {"factor": np.float32([0.9])},
    ),
    (
        "RandomColorDegeneration",
        {"factor": 0.8, "value_range": [0, 1]},
        "small",
        [0.25],
        {"factor": 0.2},
    ),
    (
        "RandomColorDegeneration",
        {"factor": [0.9, 1.0], "value_range": [0.3, 0.6]},
        "small",
        [0.5],
        {"factor": 0.95},
    ),
    (
        "RandomGaussianBlur",
        {"value_range": [0, 1]},
        "small",
        [0.49, 0.3],
        {"should_apply_blur": np.array([True]), "blur_factor": np.float32([1, 1]) + 1e-6},
    ),
    (
        "RandomGaussianBlur",
        {"factor": [1, 1], "kernel_size": 15, "sigma": [0.5, 2.5], "value_range": [0.2, 0.4]},
        "grey",
        [0.99, 0.75],
        {"should_apply_blur": np.array([True]), "blur_factor": np.float32([2, 2]) + 1e-6},
    ),
    (
        "RandomGaussianBlur",
        {"factor": 0.6, "value_range": [0.2, 0.8]},
        "small",
        [0.31, 0.5],
        {"should_apply_blur": np.array([False]), "blur_factor": np.float32([1, 1])},
    ),
]
# Operation, its arguments, image, draws, and how far the corners move.
VIEWS = [
    ({"factor": [1, 1], "scale": 0.6}, "small", [0.1, 0.9, 0.7, 0.2], [-0.24, 0.24, 0.12, -0.18]),
    ({"scale": 0.5, "fill_value": 0.625}, "grey", [0.25, 0.1, 0.9, 0.7], [0, -0.2, 0.2, 0.1]),
    (
        {"factor": [1, 1], "interpolation": "nearest"},
        "small",
        [0.3, 0.4, 0.2, 0.9],
        [-0.2, -0.1, -0.3, 0.4],
    ),
]
# A jitter's arguments, image, draws, and what Keras makes of these.
JITTERS = [
    (
        {"brightness_factor": [-0.4, 0.2], "contrast_factor": [0.5, 0.8], "hue_factor": 0.6}
        | {"saturation_factor": [0.2, 0.4], "value_range": [0, 1]},
        "small",
        [[0.9], [0.75], [0.5], [0.2, 0.5]],
        {
            "brightness": {"rgb_delta": 0.14},
            "contrast": {"contrast_factor": 1.475},
            "saturation": {"factor": [0.3 / 0.7]},
            "hue": {"factor": [0.15]},
        },
    ),
    (
        {"contrast_factor": [0.3, 0.3], "brightness_factor": 0.5, "value_range": [0, 2]},
        "grey",
        [[0.7], [0.1]],
        {"brightness": {"rgb_delta": 0.4}, "contrast": {"contrast_factor": 0.76}},
    ),
]
# Images, and the two operations of the eleven that are drawn.
PICKS = [
    ("small", [0, 10]),
    ("grey", [1, 7]),
    ("small", [2, 8]),
    ("small", [3, 9]),
    ("small", [4, 5]),
    ("grey", [6, 4]),
]
# Operations that move a mask along, and which images they are for. With a constant fill_value Keras
# fills masks by that of images.
MOVES = [
    *[(name, arguments | fill) for name, arguments in OPERATIONS for fill in FILLS[:4]],
    ("RandomFlip", {"mode": "horizontal"}),
    ("RandomFlip", {"mode": "vertical"}),
    ("RandomShear", {"x_factor": [0.3, 0.3], "y_factor": [0.2, 0.2]}),
]
RESIZES = [
    {"size": [3, 4]},
    {"size": [11, 9]},
    {"size": [1, 1]},
    {"size": [7, 5]},
    {"size": [4, 9], "interpolation": "nearest"},
    {"size": [12, 3], "interpolation": "nearest"},
    {"size": [4, 8], "crop_to_aspect_ratio": True},
    {"size": [9, 2], "crop_to_aspect_ratio": True, "interpolation": "nearest"},
]


def write_npz(path, arrays):
    """As numpy.savez_compressed, but the same bytes on every run."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for key, value in arrays.items():
            text = io.BytesIO()
            np.save(text, value)
            archive.writestr(zipfile.ZipInfo(key + ".npy"), text.getvalue(), zipfile.ZIP_DEFLATED)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/fixtures/images"
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(20240607)
    arrays = {
        "small": rng.random((7, 5, 3), dtype=np.float32),
        "grey": rng.random((6, 8, 1), dtype=np.float32),
        "bytes": rng.integers(0, 256, (7, 5, 3), dtype=np.uint8),
    }
    # Few values, between others, in two channels; one value in the last one.
    coarse = rng.integers(0, 12, (6, 8, 3)) * [9, 4, 0] + [80, 20, 70]
    arrays["coarse"] = coarse.astype(np.float32) / np.float32(255)
    cases = []

    def add(case, result):
        case["result"] = f"result_{len(cases)}"
        arrays[case["result"]] = np.asarray(result, dtype=np.float32)
        cases.append(case)

    for number, (name, arguments) in enumerate(OPERATIONS):
        for fill in FILLS:
            image = "grey" if number % 2 else "small"
            everything = arguments | fill
            layer = getattr(keras.layers, name)(**everything)
            add({"augment": {name: everything}, "image": image}, layer(arrays[image], training=True))
    for arguments in RESIZES:
        image = arrays["bytes"].astype("float32")
        add({"resize": arguments, "image": "bytes"}, keras.ops.image.resize(image, **arguments))

    def numbers(value):
        return value if isinstance(value, np.ndarray) else np.float32(value)

    everything = [(*color[:2], "small", *color[2:]) for color in COLORS] + PIXELS
    for name, arguments, image, draws, transformation in everything:
        layer = getattr(keras.layers, name)(**arguments)
        if isinstance(transformation, dict):
            transformation = {key: numbers(value) for key, value in transformation.items()}
        result = layer.transform_images(arrays[image][None], transformation, training=True)[0]
        add({"augment": {name: arguments}, "draws": draws, "image": image}, result)
    for arguments, image, draws, (right, down, far_right, far_down) in VIEWS:
        height, width = arrays[image].shape[:2]
        corners = np.float32([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]])
        moves = np.float32([[0, 0], [right, 0], [0, down], [far_right, far_down]])
        view = {
            "apply_perspective": np.array([True]),
            "start_points": corners[None],
            "end_points": (corners * (1 + moves))[None],
        }
        layer = keras.layers.RandomPerspective(**arguments)
        result = layer.transform_images(arrays[image][None], view, training=True)[0]
        add({"augment": {"RandomPerspective": arguments}, "draws": draws, "image": image}, result)
    for arguments, image, draws, transformations in JITTERS:
        layer = keras.layers.RandomColorJitter(**arguments)
        for part, values in transformations.items():
            drawn = {key: np.float32(value) for key, value in values.items()}
            draw = lambda *_, drawn=drawn, **__: dict(drawn)
            getattr(layer, "random_" + part).get_random_transformation = draw
        result = layer.transform_images(arrays[image][None], None, training=True)[0]
        add({"augment": {"RandomColorJitter": arguments}, "draws": draws, "image": image}, result)
    for image, picks in PICKS:
        arguments = {"factor": [0.3, 0.3], "value_range": [0, 1]}
        layer = keras.layers.RandAugment(**arguments)
        transforms = layer.get_random_transformation(arrays[image][None])["transforms"]
        # Where a factor of no width leaves something to chance.
        transforms["random_shear"]["shear_factor"] = np.float32([[0.3, 0.3]])
        transforms["random_contrast"]["contrast_factor"] = np.float32(1.15)
        transforms["random_posterization"]["shift_factor"] = np.uint8([6])
        for key in ("additions", "thresholds"):
            transforms["solarization"][key] = np.float32(0.3 * 255)
        transformation = {"layer_idxes": np.array(picks), "transforms": transforms}
        result = layer.transform_images(arrays[image][None], transformation, training=True)[0]
        draws = [[round((pick + 0.5) / 11, 3), 0.25 if pick == 0 else 0.75] for pick in picks]
        add({"augment": {"RandAugment": arguments}, "draws": draws, "image": image}, result)

    arrays["labels"] = rng.integers(0, 5, (7, 5, 1)).astype(np.float32)
    arrays["wide_labels"] = rng.integers(0, 5, (6, 8, 1)).astype(np.float32)
    for number, (name, arguments) in enumerate(MOVES):
        mask = "wide_labels" if number % 2 else "labels"
        arguments = dict(arguments)
        if "fill_value" in arguments:
            arguments["fill_value"] = 3.0
        layer = getattr(keras.layers, name)(**arguments)
        transformation = layer.get_random_transformation(arrays[mask][None])
        draws = [0.25, 1.0, 1.0, 1.0]
        if name == "RandomFlip":
            transformation["flips"] = np.ones_like(transformation["flips"])
        if name == "RandomShear":
            transformation["shear_factor"] = np.float32([[0.3, 0.2]])
        result = layer.transform_segmentation_masks(arrays[mask][None], transformation)[0]
        add({"augment": {name: arguments}, "draws": draws, "mask": mask}, result)

    with open(os.path.join(folder, "cases.yaml"), "w") as file:
        file.write(f"# Written by scripts/make_image_fixtures.py from Keras {keras.__version__}.\n")
        for case in cases:
            text = yaml.safe_dump(case, default_flow_style=True, sort_keys=False, width=1000)
            file.write("- " + text)
    write_npz(os.path.join(folder, "cases.npz"), arrays)


if __name__ == "__main__":
    main()
