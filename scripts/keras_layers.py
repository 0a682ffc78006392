"""The layers of make_layer_fixtures.py, as Meshwork's files list them."""

from keras_applications import APPLICATIONS
from keras_attention import ATTENTION, MASKING
from keras_masks import MASKS
from keras_operations import OPERATIONS
from keras_recurrent import RECURRENT
from keras_transformers import TRANSFORMERS
from keras_windows import WINDOWS


def reversed_embedding(args):
    """Tokens to features and back."""
    return [5], [
        {"ReversibleEmbedding": {"input_dim": 7, "output_dim": 4, **args}},
        {"Dense": {"units": 4, "activation": "tanh"}},
        {"use": {"layer": "layer", "reverse": True}},
    ]


# case -> input, and a layer or several
CALLS = {
    "einsum_dense": (
        [4, 5],
        {"EinsumDense": {"equation": "abc,cd->abd", "output_shape": [4, 6], "bias_axes": "d"}},
    ),
    "einsum_dense_to_heads": (
        [4, 6],
        {
            "EinsumDense": {
                "equation": "abc,cde->abde",
                "output_shape": [4, 2, 3],
                "bias_axes": "de",
                "activation": "tanh",
            }
        },
    ),
    "einsum_dense_from_heads": (
        [4, 2, 3],
        {"EinsumDense": {"equation": "abcd,cde->abe", "output_shape": [4, 5], "bias_axes": "e"}},
    ),
    "einsum_dense_dots_first": (
        [3, 4, 5],
        {"EinsumDense": {"equation": "...x,xy->...y", "output_shape": 6, "bias_axes": "y"}},
    ),
    "einsum_dense_dots_last": (
        [5, 3, 2],
        {"EinsumDense": {"equation": "ab...,bc->ac...", "output_shape": 4, "bias_axes": "c"}},
    ),
    "einsum_dense_along_sequence": (
        [4, 5],
        {"EinsumDense": {"equation": "abc,bd->adc", "output_shape": [3, 5], "bias_axes": "d"}},
    ),
    "einsum_dense_summed": (
        [4, 5],
        {"EinsumDense": {"equation": "abc,cd->ad", "output_shape": 3}},
    ),
    "einsum_dense_kernel_each": (
        [4, 5],
        {
            "EinsumDense": {
                "equation": "abc,bcd->abd",
                "output_shape": [4, 3],
                "bias_axes": "bd",
            }
        },
    ),
    "embedding": ([5], {"Embedding": {"input_dim": 7, "output_dim": 3}}),
    "embedding_input_length": (
        [5],
        {"Embedding": {"input_dim": 7, "output_dim": 3, "input_length": 5}},
    ),
    "embedding_of_rows": ([4, 2], {"Embedding": {"input_dim": 3, "output_dim": 5}}),
    **WINDOWS,
    "batch_norm": ([4, 4, 3], {"BatchNormalization": {}}),
    "batch_norm_axis": ([4, 5, 3], {"BatchNormalization": {"axis": 1, "epsilon": 0.01}}),
    "training_batch_norm": ([4, 4, 3], {"BatchNormalization": {"momentum": 0.8}}),
    "training_batch_norm_axis": (
        [4, 5, 3],
        {"BatchNormalization": {"axis": 2, "center": False, "epsilon": 0.1}},
    ),
    "training_batch_norm_plain": (
        [6],
        {"BatchNormalization": {"scale": False, "center": False}},
    ),
    "training_batch_norm_frozen": ([3, 4], {"BatchNormalization": {"trainable": False}}),
    "layer_norm": ([4, 5, 3], {"LayerNormalization": {}}),
    "layer_norm_axes": ([4, 5, 3], {"LayerNormalization": {"axis": [3, 1], "epsilon": 0.1}}),
    "layer_norm_list": ([4, 5], {"LayerNormalization": {"axis": [-1], "scale": False}}),
    "layer_norm_sample": ([4, 5], {"LayerNormalization": {"axis": [1, 2], "center": False}}),
    "layer_norm_deviation": ([4, 5], {"LayerNormalization": {"rms_scaling": True}}),
    "group_norm": ([4, 3, 6], {"GroupNormalization": {"groups": 3}}),
    "group_norm_instances": ([4, 3, 4], {"GroupNormalization": {"groups": -1, "epsilon": 0.02}}),
    "group_norm_axis": ([6, 4, 3], {"GroupNormalization": {"groups": 2, "axis": 1}}),
    "group_norm_one": ([8], {"GroupNormalization": {"groups": 1, "scale": False}}),
    "unit_norm": ([4, 5], {"UnitNormalization": {}}),
    "unit_norm_axes": ([4, 5], {"UnitNormalization": {"axis": [1, 2]}}),
    "rms_norm": ([4, 5], {"RMSNormalization": {}}),
    "rms_norm_axes": ([4, 3, 5], {"RMSNormalization": {"axis": [3, 2], "epsilon": 0.1}}),
    "zero_padding1d": ([4, 2], {"ZeroPadding1D": {"padding": [1, 3]}}),
    "zero_padding2d": ([3, 4, 2], {"ZeroPadding2D": {"padding": [[1, 0], [2, 3]]}}),
    "zero_padding2d_pair": ([3, 4, 2], {"ZeroPadding2D": {"padding": [0, 2]}}),
    "zero_padding3d": ([2, 3, 2, 2], {"ZeroPadding3D": {}}),
    "cropping1d": ([6, 2], {"Cropping1D": {}}),
    "cropping2d": ([6, 5, 2], {"Cropping2D": {"cropping": [[1, 2], [0, 3]]}}),
    "cropping3d": ([4, 3, 5, 2], {"Cropping3D": {"cropping": [1, 0, 2]}}),
    "up1d": ([4, 3], {"UpSampling1D": {"size": 3}}),
    "up2d": ([3, 4, 2], {"UpSampling2D": {"size": [2, 3]}}),
    "up2d_bilinear": ([4, 3, 2], {"UpSampling2D": {"interpolation": "bilinear"}}),
    "up2d_bilinear_odd": (
        [3, 4, 2],
        {"UpSampling2D": {"size": [3, 1], "interpolation": "bilinear"}},
    ),
    "up2d_bilinear_one": ([1, 2, 1], {"UpSampling2D": {"size": 4, "interpolation": "bilinear"}}),
    "up2d_bicubic": ([4, 5, 2], {"UpSampling2D": {"interpolation": "bicubic"}}),
    "up2d_bicubic_odd": ([3, 2, 2], {"UpSampling2D": {"size": 3, "interpolation": "bicubic"}}),
    "up2d_bicubic_one": ([1, 2, 1], {"UpSampling2D": {"size": 4, "interpolation": "bicubic"}}),
    "up3d": ([2, 2, 3, 2], {"UpSampling3D": {"size": [1, 2, 2]}}),
    "relu": ([12], {"ReLU": {}}),
    "dot": (
        [5, 4],
        [
            {"Dense": {"name": "a", "units": 4}},
            {"Dot": {"axes": [2, -1], "inputs": ["input", "a"]}},
        ],
    ),
    "dot_normalized": (
        [5, 4],
        [
            {"Dense": {"name": "a", "units": 3}},
            {"Dot": {"axes": 1, "normalize": True, "inputs": ["a", "input"]}},
        ],
    ),
    "dot_ranks": (
        [3, 5, 4],
        [
            {"GlobalAveragePooling2D": {"name": "a"}},
            {"Dot": {"axes": [-1, 1], "inputs": ["input", "a"]}},
        ],
    ),
    "dot_vectors": (
        [6],
        [
            {"Dense": {"name": "a", "units": 6}},
            {"Dot": {"axes": 1, "normalize": True, "inputs": ["input", "a"]}},
        ],
    ),
    "rescaling_channels": (
        [4, 3],
        {"Rescaling": {"scale": [0.5, 2.0, -1.0], "offset": [0.0, 1.0, 0.25]}},
    ),
    "rescaling_scaled_channels": ([5, 2], {"Rescaling": {"scale": [0.5, 2.0], "offset": 1}}),
    "rescaling_one_in_list": ([5, 2], {"Rescaling": {"scale": [0.5], "offset": [[1.0]]}}),
    "rescaling_lists": (
        [3, 2],
        {"Rescaling": {"scale": [[1, 2], [0.5, -1], [3, 4]], "offset": [[1.0], [2.0], [0.25]]}},
    ),
    "rescaling_steps": ([3, 2], {"Rescaling": {"scale": [[[1.0], [2.0], [-0.5]]]}}),
    "normalization": ([4, 3], {"Normalization": {}}),
    "normalization_axes": ([4, 3, 2], {"Normalization": {"axis": [3, 1]}}),
    "normalization_all": ([4, 3], {"Normalization": {"axis": None}}),
    "normalization_given": (
        [4, 3],
        {"Normalization": {"mean": [0.5, 1.0, -2.0], "variance": [4.0, 0.3, 1.0]}},
    ),
    "normalization_number": (
        [4, 3],
        {"Normalization": {"axis": None, "mean": 0.5, "variance": 3.0}},
    ),
    "normalization_fewer": (
        [3, 2],
        {"Normalization": {"axis": [1, 2], "mean": [0.5, -1.0], "variance": [3.0, 0.2]}},
    ),
    "normalization_lists": (
        [2, 3],
        {
            "Normalization": {
                "axis": [1, 2],
                "mean": [[0.5, -1.0, 0.0], [1.0, 2.0, 3.0]],
                "variance": [[3.0, 0.2, 1.0], [1.0, 7.0, 0.1]],
            }
        },
    ),
    "normalization_back": (
        [4, 3],
        {"Normalization": {"invert": True, "mean": [0.5, 1.0, -2.0], "variance": [4.0, 0.3, 0.0]}},
    ),
    **APPLICATIONS,
    "activation_none": ([12], {"Activation": {"activation": None}}),
    "relu_all": ([12], {"ReLU": {"max_value": 1.5, "negative_slope": 0.1, "threshold": 0.25}}),
    "leaky_relu": ([12], {"LeakyReLU": {}}),
    "leaky_relu_alpha": ([12], {"LeakyReLU": {"alpha": 0.1}}),
    "prelu": ([3, 4, 2], {"PReLU": {}}),
    "prelu_shared": ([3, 4, 2], {"PReLU": {"shared_axes": [1, 2]}}),
    "elu": ([12], {"ELU": {"alpha": 0.7}}),
    "softmax": ([4, 3], {"Softmax": {"axis": 1}}),
    "softmax_axes": ([4, 3, 5], {"Softmax": {"axis": [1, 3]}}),
    "permute": ([2, 3, 4], {"Permute": {"dims": [3, 1, 2]}}),
    "repeat_vector": ([3], {"RepeatVector": {"n": 4}}),
    **MASKS,
    **ATTENTION,
    **TRANSFORMERS,
    "mask_zero": (
        [6],
        [
            {"Embedding": {"input_dim": 4, "output_dim": 3, "mask_zero": True}},
            {"GlobalAveragePooling1D": {}},
        ],
    ),
    "mask_zero_kept": (
        [6],
        [
            {"Embedding": {"input_dim": 4, "output_dim": 3, "mask_zero": True}},
            {"Dropout": {"rate": 0.5}},
            {"Dense": {"units": 2, "activation": "tanh"}},
            {"UnitNormalization": {}},
            {"PReLU": {}},
            {"GlobalAveragePooling1D": {}},
        ],
    ),
    "position_embedding": ([5, 4], {"PositionEmbedding": {"sequence_length": 7}}),
    "position_embedding_whole": (
        [2, 5, 3],
        {"PositionEmbedding": {"sequence_length": 5, "initializer": "zeros"}},
    ),
    "sine_position_encoding": ([6, 5], {"SinePositionEncoding": {}}),
    "sine_position_encoding_short": (
        [2, 4, 6],
        {"SinePositionEncoding": {"max_wavelength": 50}},
    ),
    "rotary_embedding": ([6, 8], {"RotaryEmbedding": {}}),
    "rotary_embedding_heads": (
        [6, 2, 8],
        {"RotaryEmbedding": {"max_wavelength": 500, "scaling_factor": 2.0}},
    ),
    "rotary_embedding_axes": (
        [4, 3, 5],
        {"RotaryEmbedding": {"sequence_axis": -1, "feature_axis": 1, "denominator_dim": 6}},
    ),
    "rotary_embedding_dynamic": (
        [6, 6],
        {"RotaryEmbedding": {"rope_type": "dynamic", "scaling_factor": 3.0}},
    ),
    "rotary_embedding_yarn": (
        [6, 2, 16],
        {
            "RotaryEmbedding": {
                "rope_type": "yarn",
                "scaling_factor": 4.0,
                "original_max_position_embeddings": 64,
            }
        },
    ),
    "rotary_embedding_yarn_fine": (
        [6, 16],
        {
            "RotaryEmbedding": {
                "rope_type": "yarn",
                "scaling_factor": 2.5,
                "max_wavelength": 300,
                "beta_fast": 8.0,
                "beta_slow": 0.5,
                "original_max_position_embeddings": 100,
                "truncate": False,
            }
        },
    ),
    "token_and_position_embedding": (
        [5],
        {
            "TokenAndPositionEmbedding": {
                "vocabulary_size": 7,
                "sequence_length": 6,
                "embedding_dim": 4,
            }
        },
    ),
    "token_and_position_embedding_masked": (
        [6],
        [
            {
                "TokenAndPositionEmbedding": {
                    "vocabulary_size": 4,
                    "sequence_length": 6,
                    "embedding_dim": 3,
                    "mask_zero": True,
                    "tie_weights": False,
                }
            },
            {"GlobalAveragePooling1D": {}},
        ],
    ),
    "reversible_embedding": reversed_embedding({}),
    "reversible_embedding_untied": reversed_embedding(
        {"tie_weights": False, "logit_soft_cap": 0.5, "reverse_dtype": "float32"}
    ),
    "reversible_embedding_masked": (
        [6],
        [
            {"ReversibleEmbedding": {"input_dim": 4, "output_dim": 3, "mask_zero": True}},
            {"GlobalAveragePooling1D": {}},
        ],
    ),
    "einsum_dense_dots_first_heads": (
        [3, 4, 5],
        {
            "EinsumDense": {
                "equation": "...ab,bcd->...acd",
                "output_shape": [None, 2, 3],
                "bias_axes": "cd",
            }
        },
    ),
    "einsum_dense_dots_first_bias_of_steps": (
        [2, 4, 5],
        {"EinsumDense": {"equation": "...ab,bc->...ac", "output_shape": [4, 3], "bias_axes": "a"}},
    ),
    "einsum_dense_dots_last_heads": (
        [5, 3, 2],
        {
            "EinsumDense": {
                "equation": "ab...,bcd->adc...",
                "output_shape": [2, 4],
                "bias_axes": "d",
                "activation": "tanh",
            }
        },
    ),
    "einsum_dense_dots_for_nothing": (
        [5],
        {"EinsumDense": {"equation": "ab...,bc->ac...", "output_shape": 4, "bias_axes": "c"}},
    ),
    "einsum_dense_bias_apart": (
        [4, 5],
        {
            "EinsumDense": {
                "equation": "abc,cde->adbe",
                "output_shape": [2, 4, 3],
                "bias_axes": "ed",
            }
        },
    ),
    "einsum_dense_bias_first": (
        [4, 5],
        {"EinsumDense": {"equation": "abc,cd->abd", "output_shape": [4, 3], "bias_axes": "b"}},
    ),
    "layer_norm_all_axes": ([4, 3, 5], {"LayerNormalization": {"axis": [1, 2, 3]}}),
    "layer_norm_axes_apart": (
        [4, 3, 5],
        {"LayerNormalization": {"axis": [3, 1], "scale": False, "epsilon": 0.01}},
    ),
    "masked_rms_norm": (
        [6, 3],
        [MASKING, {"RMSNormalization": {}}, {"GlobalAveragePooling1D": {}}],
    ),
    "dense_lora": ([4], {"Dense": {"units": 3, "lora_rank": 2}}),
    "dense_lora_alpha": (
        [5, 4],
        {
            "Dense": {
                "units": 3,
                "lora_rank": 2,
                "lora_alpha": 3,
                "use_bias": False,
                "activation": "tanh",
            }
        },
    ),
    "einsum_dense_lora": (
        [4, 5],
        {
            "EinsumDense": {
                "equation": "abc,cde->abde",
                "output_shape": [None, 2, 3],
                "bias_axes": "de",
                "lora_rank": 2,
                "lora_alpha": 5,
            }
        },
    ),
    "embedding_lora": (
        [5],
        {"Embedding": {"input_dim": 7, "output_dim": 3, "lora_rank": 2, "lora_alpha": 1}},
    ),
    "reversible_embedding_lora": reversed_embedding({"lora_rank": 2}),
    "masked_einsum_dense": (
        [6, 3],
        [
            MASKING,
            {"EinsumDense": {"equation": "abc,cd->abd", "output_shape": [6, 2]}},
            {"GlobalAveragePooling1D": {}},
        ],
    ),
    **RECURRENT,
    **OPERATIONS,
}
