"""Layers behind a mask for make_layer_fixtures.py: case -> input, and a layer or several."""

from keras_attention import MASKED, MASKING

MASKED_OTHER = -0.0625
# Beside MASKING: hides other steps, or none.
MASKING_OTHER = {
    "Masking": {"name": "other", "mask_value": MASKED_OTHER, "inputs": ["masking"]}
}
UNMASKED = {
    "Conv1D": {"name": "other", "filters": 3, "kernel_size": 1, "inputs": ["masking"]}
}


def merged(layer, other, inputs=("masking", "other")):
    return [6, 3], [MASKING, other, {layer: {"inputs": list(inputs)}}, {"GlobalAveragePooling1D": {}}]


MASKS = {
    "masking": ([6, 3], {"Masking": {"mask_value": MASKED}}),
    "masked_average": ([6, 3], [MASKING, {"GlobalAveragePooling1D": {}}]),
    "masked_average_keepdims": (
        [6, 3],
        [MASKING, {"Dense": {"units": 2}}, {"GlobalAveragePooling1D": {"keepdims": True}}],
    ),
    "masked_max": ([6, 3], [MASKING, {"GlobalMaxPooling1D": {}}]),
    "masked_dropped": (
        [6, 3],
        [MASKING, {"Reshape": {"target_shape": [3, 6]}}, {"GlobalAveragePooling1D": {}}],
    ),
    "masked_concatenate": (
        [6, 3],
        [
            MASKING,
            {"Dense": {"name": "right", "units": 2, "inputs": ["masking"]}},
            {"Concatenate": {"inputs": ["masking", "right"]}},
            {"GlobalAveragePooling1D": {}},
        ],
    ),
    "masked_concatenate_steps": (
        [5, 2],
        [
            MASKING,
            {"ReLU": {"name": "right", "negative_slope": 0.5}},
            {"Concatenate": {"axis": 1, "inputs": ["masking", "right"]}},
            {"GlobalAveragePooling1D": {}},
        ],
    ),
    "masked_concatenate_partly": (
        [5, 2],
        [
            MASKING,
            {"Conv1D": {"name": "right", "filters": 2, "kernel_size": 1}},
            {"Concatenate": {"axis": 1, "inputs": ["masking", "right"]}},
            {"GlobalAveragePooling1D": {}},
        ],
    ),
    "masked_add": merged("Add", MASKING_OTHER),
    "masked_multiply": merged("Multiply", MASKING_OTHER),
    "masked_multiply_partly": merged("Multiply", UNMASKED),
    "masked_maximum": merged("Maximum", MASKING_OTHER),
    "masked_minimum_partly": merged("Minimum", UNMASKED),
    "masked_maximum_partly_first": merged("Maximum", UNMASKED, ["other", "masking"]),
    "training_masked_batch_norm": ([6, 3], [MASKING, {"BatchNormalization": {"momentum": 0.8}}]),
    "training_masked_batch_norm_images": (
        [4, 2, 3],
        [MASKING, {"BatchNormalization": {}}, {"GlobalAveragePooling2D": {}}],
    ),
    "masked_batch_norm": ([6, 3], [MASKING, {"BatchNormalization": {}}]),
    "masked_layer_norm": (
        [6, 3],
        [MASKING, {"LayerNormalization": {}}, {"GlobalAveragePooling1D": {}}],
    ),
}
