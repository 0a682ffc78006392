"""Convolutions and pools for make_layer_fixtures.py: case -> input, and a layer."""

WINDOWS = {
    "conv1d": ([9, 3], {"Conv1D": {"filters": 4, "kernel_size": 3, "strides": 2}}),
    "conv1d_causal": (
        [9, 3],
        {"Conv1D": {"filters": 4, "kernel_size": 3, "dilation_rate": 2, "padding": "causal"}},
    ),
    "conv1d_causal_strided": (
        [9, 2],
        {"Conv1D": {"filters": 3, "kernel_size": 4, "strides": 2, "padding": "causal"}},
    ),
    "conv1d_same": ([8, 2], {"Conv1D": {"filters": 3, "kernel_size": 4, "padding": "same"}}),
    "conv2d": ([7, 6, 3], {"Conv2D": {"filters": 4, "kernel_size": [3, 2]}}),
    "conv2d_same_strided": (
        [8, 7, 3],
        {
            "Conv2D": {
                "filters": 4,
                "kernel_size": 6,
                "strides": [2, 3],
                "padding": "same",
                "activation": "tanh",
            }
        },
    ),
    "conv2d_skipping": (
        [9, 8, 2],
        {"Conv2D": {"filters": 3, "kernel_size": [1, 2], "strides": 3, "padding": "same"}},
    ),
    "conv2d_dilated": (
        [8, 8, 2],
        {"Conv2D": {"filters": 3, "kernel_size": 3, "dilation_rate": [2, 3], "padding": "same"}},
    ),
    "conv2d_groups": (
        [5, 5, 6],
        {"Conv2D": {"filters": 9, "kernel_size": 3, "groups": 3, "use_bias": False}},
    ),
    "conv3d": (
        [4, 5, 3, 2],
        {"Conv3D": {"filters": 3, "kernel_size": [2, 3, 2], "strides": [1, 2, 1]}},
    ),
    "depthwise1d": (
        [8, 3],
        {"DepthwiseConv1D": {"kernel_size": 3, "depth_multiplier": 2, "strides": 2}},
    ),
    "depthwise2d": (
        [6, 7, 3],
        {"DepthwiseConv2D": {"kernel_size": 3, "depth_multiplier": 2, "padding": "same"}},
    ),
    "depthwise2d_dilated": (
        [9, 9, 2],
        {"DepthwiseConv2D": {"kernel_size": 3, "dilation_rate": 2, "activation": "sigmoid"}},
    ),
    "depthwise2d_one_channel": ([5, 5, 1], {"DepthwiseConv2D": {"kernel_size": 2}}),
    "separable1d": (
        [9, 3],
        {"SeparableConv1D": {"filters": 4, "kernel_size": 3, "padding": "same"}},
    ),
    "separable2d": (
        [7, 6, 3],
        {
            "SeparableConv2D": {
                "filters": 5,
                "kernel_size": 3,
                "strides": 2,
                "depth_multiplier": 2,
                "padding": "same",
            }
        },
    ),
    "transpose1d": ([4, 3], {"Conv1DTranspose": {"filters": 2, "kernel_size": 3, "strides": 2}}),
    "transpose2d_gaps": (
        [3, 4, 2],
        {"Conv2DTranspose": {"filters": 3, "kernel_size": 2, "strides": 3}},
    ),
    "transpose2d_same": (
        [4, 3, 2],
        {"Conv2DTranspose": {"filters": 3, "kernel_size": [3, 4], "strides": 2, "padding": "same"}},
    ),
    "transpose2d_same_gaps": (
        [3, 3, 2],
        {"Conv2DTranspose": {"filters": 2, "kernel_size": [1, 2], "strides": 3, "padding": "same"}},
    ),
    "transpose2d_output_padding": (
        [3, 4, 2],
        {
            "Conv2DTranspose": {
                "filters": 2,
                "kernel_size": 3,
                "strides": 3,
                "output_padding": [1, 2],
            }
        },
    ),
    "transpose2d_same_output_padding": (
        [4, 3, 2],
        {
            "Conv2DTranspose": {
                "filters": 2,
                "kernel_size": [3, 4],
                "strides": 3,
                "output_padding": [2, 0],
                "padding": "same",
            }
        },
    ),
    "transpose2d_dilated": (
        [4, 5, 2],
        {
            "Conv2DTranspose": {
                "filters": 3,
                "kernel_size": 3,
                "dilation_rate": 2,
                "padding": "same",
                "activation": "relu",
            }
        },
    ),
    "transpose3d": (
        [2, 3, 2, 2],
        {"Conv3DTranspose": {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same"}},
    ),
    "max1d": ([9, 3], {"MaxPooling1D": {}}),
    "max2d": ([7, 6, 3], {"MaxPooling2D": {"pool_size": [3, 2], "strides": 2}}),
    "max2d_same": ([7, 6, 2], {"MaxPooling2D": {"pool_size": 3, "strides": 2, "padding": "same"}}),
    "max2d_overlapping": ([6, 6, 2], {"MaxPooling2D": {"pool_size": 3, "strides": 1}}),
    "max2d_skipping": ([8, 8, 2], {"MaxPooling2D": {"pool_size": 2, "strides": 3}}),
    "max2d_huge": ([3, 4, 2], {"MaxPooling2D": {"pool_size": 99, "strides": 1, "padding": "same"}}),
    "max3d": ([4, 4, 5, 2], {"MaxPooling3D": {}}),
    "average1d_same": ([9, 3], {"AveragePooling1D": {"pool_size": 4, "padding": "same"}}),
    "average2d": ([7, 6, 3], {"AveragePooling2D": {"pool_size": 2}}),
    "average2d_same": (
        [7, 6, 2],
        {"AveragePooling2D": {"pool_size": [3, 2], "strides": [2, 3], "padding": "same"}},
    ),
    "average2d_overlapping": (
        [5, 6, 2],
        {"AveragePooling2D": {"pool_size": 4, "strides": 1, "padding": "same"}},
    ),
    "average2d_huge": (
        [4, 3, 2],
        {"AveragePooling2D": {"pool_size": 50, "strides": 2, "padding": "same"}},
    ),
    "average3d": ([4, 5, 2, 2], {"AveragePooling3D": {"pool_size": 2, "padding": "same"}}),
    "adaptive_average1d": ([7, 3], {"AdaptiveAveragePooling1D": {"output_size": 3}}),
    "adaptive_average1d_more": ([4, 3], {"AdaptiveAveragePooling1D": {"output_size": 6}}),
    "adaptive_average2d": ([9, 6, 2], {"AdaptiveAveragePooling2D": {"output_size": [6, 3]}}),
    "adaptive_average3d": ([3, 4, 5, 2], {"AdaptiveAveragePooling3D": {"output_size": 2}}),
    "adaptive_max1d": ([12, 3], {"AdaptiveMaxPooling1D": {"output_size": [8]}}),
    "adaptive_max1d_more": ([3, 2], {"AdaptiveMaxPooling1D": {"output_size": 5}}),
    "adaptive_max2d": ([8, 7, 2], {"AdaptiveMaxPooling2D": {"output_size": 4}}),
    "adaptive_max3d": ([4, 6, 2, 2], {"AdaptiveMaxPooling3D": {"output_size": [2, 4, 1]}}),
    "global_average1d": ([5, 3], {"GlobalAveragePooling1D": {}}),
    "global_average2d": ([5, 4, 3], {"GlobalAveragePooling2D": {"keepdims": True}}),
    "global_max1d": ([5, 3], {"GlobalMaxPooling1D": {"keepdims": True}}),
    "global_max2d": ([5, 4, 3], {"GlobalMaxPooling2D": {}}),
    "global_max3d": ([2, 4, 3, 2], {"GlobalMaxPooling3D": {}}),
}
