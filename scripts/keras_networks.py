"""The networks of make_keras_fixtures.py, as Meshwork's files list them.

Where Adam trains, no bias stands before a batch normalization: its gradient would be 0 but for
rounding, which Adam blows up.
"""


def convolution(name, filters, size, stride=1):
    """A convolution of the guide: without bias, then batch normalization and ReLU."""
    args = {"filters": filters, "kernel_size": size, "strides": stride, "padding": "same"}
    return [
        {"Conv2D": {"name": name, **args, "use_bias": False}},
        {"BatchNormalization": {"name": f"{name}_norm", "scale": False, "center": True}},
        {"ReLU": {"name": f"{name}_relu"}},
    ]


def every_kind(given):
    """A network with a layer of each kind that has regularizers and constraints, by its name in
    `given` with these arguments besides; one is frozen, and one stands twice."""

    def dense(name, **args):
        return {"Dense": {"name": name, "units": 4, **args, **given[name]}}

    return {
        "input": [6, 4],
        "layers": [
            {"Conv1D": {"name": "conv", "filters": 4, "kernel_size": 3, "padding": "same",
                        **given["conv"]}},
            {"BatchNormalization": {"name": "norm", **given["norm"]}},
            {"SeparableConv1D": {"name": "separable", "filters": 4, "kernel_size": 2,
                                 "padding": "same", **given["separable"]}},
            {"MultiHeadAttention": {"name": "attention", "inputs": ["separable", "separable"],
                                    "num_heads": 2, "key_dim": 3, **given["attention"]}},
            dense("frozen", trainable=False),
            dense("shared"),
            {"PReLU": {"name": "prelu", **given["prelu"]}},
            {"use": {"name": "shared_again", "layer": "shared"}},
            {"Flatten": {"name": "flat"}},
            {"Dense": {"name": "out", "units": 5, **given["out"]}},
        ],
    }


NETWORKS = {
    "convnet": {
        "input": [12, 12, 1],
        "layers": [
            {"Rescaling": {"name": "scaled", "scale": 0.5}},
            *convolution("conv_1", 4, 3),
            *convolution("conv_2", 6, 6, 2),
            *convolution("conv_3", 8, 6, 2),
            {"GlobalAveragePooling2D": {"name": "pool"}},
            {"Dense": {"name": "hidden", "units": 16, "activation": "relu"}},
            {"Dropout": {"name": "dropout", "rate": 0.0}},
            {"Dense": {"name": "out", "units": 10}},
        ],
    },
    "separable": {
        "input": [9, 8, 2],
        "layers": [
            {"ZeroPadding2D": {"name": "pad", "padding": [[0, 1], [1, 2]]}},
            {
                "DepthwiseConv2D": {
                    "name": "deep",
                    "kernel_size": 3,
                    "depth_multiplier": 2,
                    "use_bias": False,
                }
            },
            {"BatchNormalization": {"name": "norm_1", "momentum": 0.9}},
            {"Activation": {"name": "relu_1", "activation": "relu6"}},
            {
                "SeparableConv2D": {
                    "name": "separable",
                    "filters": 6,
                    "kernel_size": 3,
                    "strides": 2,
                    "padding": "same",
                    "use_bias": False,
                }
            },
            {"BatchNormalization": {"name": "norm_2", "momentum": 0.5}},
            {"Conv2D": {"name": "grouped", "filters": 4, "kernel_size": 3, "groups": 2}},
            {"PReLU": {"name": "prelu", "shared_axes": [1, 2]}},
            {"Flatten": {"name": "flat"}},
            {"Dense": {"name": "out", "units": 5}},
        ],
    },
    "group_layer_norm": {
        "input": [8, 7, 3],
        "layers": [
            {"Conv2D": {"name": "conv", "filters": 6, "kernel_size": 3, "padding": "same"}},
            {"GroupNormalization": {"name": "groups", "groups": 3}},
            {"ReLU": {"name": "relu"}},
            {
                "Conv2D": {
                    "name": "dilated",
                    "filters": 4,
                    "kernel_size": 3,
                    "dilation_rate": 2,
                    "padding": "same",
                }
            },
            {"LayerNormalization": {"name": "channels"}},
            {"GroupNormalization": {"name": "instances", "groups": -1, "scale": False}},
            {"LayerNormalization": {"name": "places", "axis": [1, 2], "epsilon": 0.01}},
            {"GlobalMaxPooling2D": {"name": "pool"}},
            {"LayerNormalization": {"name": "features", "center": False}},
            {"Dense": {"name": "out", "units": 5}},
        ],
    },
    "transposed": {
        "input": [4, 5, 2],
        "layers": [
            {
                "Conv2DTranspose": {
                    "name": "up_1",
                    "filters": 4,
                    "kernel_size": 3,
                    "strides": 2,
                    "padding": "same",
                    "activation": "tanh",
                }
            },
            {"Conv2D": {"name": "conv_1", "filters": 3, "kernel_size": [2, 3], "strides": 2}},
            {"UpSampling2D": {"name": "nearest", "size": [2, 3]}},
            {"Conv2D": {"name": "conv_2", "filters": 3, "kernel_size": 3, "activation": "tanh"}},
            {"UpSampling2D": {"name": "bilinear", "interpolation": "bilinear"}},
            {"Cropping2D": {"name": "crop", "cropping": [[1, 0], [2, 1]]}},
            {
                "Conv2DTranspose": {
                    "name": "up_2",
                    "filters": 2,
                    "kernel_size": 2,
                    "strides": 3,
                    "output_padding": 1,
                }
            },
            {"AveragePooling2D": {"name": "pool", "pool_size": 5, "padding": "same"}},
            {"Flatten": {"name": "flat"}},
            {"Dense": {"name": "out", "units": 3}},
        ],
    },
    "pools": {
        "input": [12, 11, 2],
        "layers": [
            {"Conv2D": {"name": "conv_1", "filters": 4, "kernel_size": 3, "padding": "same"}},
            {
                "MaxPooling2D": {
                    "name": "max_1",
                    "pool_size": 3,
                    "strides": 2,
                    "padding": "same",
                }
            },
            {"LeakyReLU": {"name": "leaky"}},
            {
                "AveragePooling2D": {
                    "name": "average_1",
                    "pool_size": 3,
                    "strides": 1,
                    "padding": "same",
                }
            },
            {"MaxPooling2D": {"name": "max_2", "pool_size": [2, 3], "strides": 1}},
            {"AveragePooling2D": {"name": "average_2", "pool_size": 2, "strides": 1}},
            {"MaxPooling2D": {"name": "max_3"}},
            {"Flatten": {"name": "flat"}},
            {"Dense": {"name": "out", "units": 5}},
        ],
    },
    "residual": {
        "input": [8, 8, 3],
        "layers": [
            {"Conv2D": {"name": "stem", "filters": 4, "kernel_size": 3, "padding": "same"}},
            {"BatchNormalization": {"name": "norm_1"}},
            {"ReLU": {"name": "relu_1"}},
            {"Conv2D": {"name": "conv_2", "filters": 4, "kernel_size": 3, "padding": "same"}},
            {"BatchNormalization": {"name": "norm_2", "trainable": False}},
            {"Add": {"name": "sum", "inputs": ["relu_1", "norm_2"]}},
            {"PReLU": {"name": "prelu"}},
            {"Conv2D": {"name": "down", "filters": 6, "kernel_size": 1, "strides": 2}},
            {"BatchNormalization": {"name": "norm_3", "axis": 1}},
            {"GlobalAveragePooling2D": {"name": "pool"}},
            {"Dense": {"name": "out", "units": 5}},
        ],
    },
    "regularized": every_kind({
        "conv": {"kernel_regularizer": {"L2": {"l2": 0.02}}, "bias_regularizer": "l1"},
        "norm": {
            "gamma_regularizer": {"L1L2": {"l1": 0.03, "l2": 0.01}},
            "beta_regularizer": "l2",
        },
        "separable": {
            "depthwise_regularizer": "l2",
            "pointwise_regularizer": {"L1": {"l1": 0.005}},
        },
        "attention": {"kernel_regularizer": {"L2": {"l2": 0.04}}, "bias_regularizer": "l2"},
        "frozen": {"kernel_regularizer": {"L2": {"l2": 5.0}}},
        "shared": {"kernel_regularizer": "l2"},
        "prelu": {"alpha_regularizer": "l1"},
        "out": {"use_bias": False, "kernel_regularizer": {"L1L2": {"l1": 0.001, "l2": 0.01}}},
    }),
    "orthogonal": {
        "input": [6, 4],
        "layers": [
            {
                "Dense": {
                    "name": "hidden",
                    "units": 7,
                    "activation": "tanh",
                    "kernel_regularizer": {"OrthogonalRegularizer": {"factor": 0.2}},
                }
            },
            {"Flatten": {"name": "flat"}},
            {
                "Dense": {
                    "name": "out",
                    "units": 5,
                    "kernel_regularizer": {"OrthogonalRegularizer": {"factor": 0.5, "mode": "columns"}},
                }
            },
        ],
    },
    "constrained": every_kind({
        "conv": {
            "kernel_constraint": {"MaxNorm": {"max_value": 0.9, "axis": [0, 1]}},
            "bias_constraint": "non_neg",
        },
        "norm": {
            "gamma_constraint": {"MinMaxNorm": {"min_value": 2.5, "max_value": 4.0}},
            "beta_constraint": "NonNeg",
        },
        "separable": {
            "depthwise_constraint": "unit_norm",
            "pointwise_constraint": {"MaxNorm": {"max_value": 1, "axis": 1}},
        },
        "attention": {
            "kernel_constraint": "max_norm",
            "bias_constraint": {"MaxNorm": {"max_value": 0.3, "axis": -1}},
        },
        "frozen": {"kernel_constraint": "non_neg"},
        "shared": {"kernel_constraint": "UnitNorm"},
        "prelu": {"alpha_constraint": "non_neg"},
        "out": {
            "kernel_constraint": {
                "MinMaxNorm": {"min_value": 0.5, "max_value": 1.5, "rate": 0.25, "axis": None}
            }
        },
    }),
    "adaptive": {
        "input": [9, 8, 2],
        "layers": [
            {"Conv2D": {"name": "c1", "filters": 4, "kernel_size": 3, "padding": "same"}},
            {"AdaptiveMaxPooling2D": {"name": "greatest", "output_size": [6, 4]}},
            {"Conv2D": {"name": "c2", "filters": 3, "kernel_size": 3, "padding": "same"}},
            {"AdaptiveAveragePooling2D": {"name": "mean", "output_size": 3}},
            {"Flatten": {"name": "flat"}},
            {"Dense": {"name": "out", "units": 5}},
        ],
    },
    "factored": {
        "input": [6, 4],
        "layers": [
            {"Conv1D": {"name": "conv", "filters": 5, "kernel_size": 3, "activation": "tanh"}},
            {
                "MultiHeadAttention": {
                    "name": "attention",
                    "inputs": ["conv", "conv"],
                    "num_heads": 2,
                    "key_dim": 3,
                    "use_bias": False,
                }
            },
            {"Flatten": {"name": "flat"}},
            {"Dense": {"name": "out", "units": 5}},
        ],
    },
    "activities": {
        "input": [6, 4],
        "layers": [
            {
                "Conv1D": {
                    "name": "conv",
                    "filters": 4,
                    "kernel_size": 3,
                    "activation": "tanh",
                    "activity_regularizer": {"L1L2": {"l1": 0.02, "l2": 0.03}},
                }
            },
            {"ActivityRegularization": {"name": "between", "l1": 0.01, "l2": 0.02}},
            {
                "Dense": {
                    "name": "frozen",
                    "units": 4,
                    "trainable": False,
                    "activity_regularizer": {"L2": {"l2": 0.1}},
                    "kernel_regularizer": "l2",
                }
            },
            {"ReLU": {"name": "relu", "activity_regularizer": "l1"}},
            {"Flatten": {"name": "flat"}},
            {
                "Dense": {
                    "name": "out",
                    "units": 5,
                    "kernel_regularizer": "l2",
                    "activity_regularizer": "l2",
                }
            },
        ],
    },
    "sequence": {
        "input": [20, 3],
        "layers": [
            {
                "Conv1D": {
                    "name": "causal",
                    "filters": 6,
                    "kernel_size": 3,
                    "dilation_rate": 2,
                    "padding": "causal",
                    "activation": "relu",
                }
            },
            {"MaxPooling1D": {"name": "max", "pool_size": 3, "strides": 2}},
            {"BatchNormalization": {"name": "norm"}},
            {
                "SeparableConv1D": {
                    "name": "separable",
                    "filters": 5,
                    "kernel_size": 3,
                    "activation": "elu",
                }
            },
            {"UpSampling1D": {"name": "up"}},
            {"Conv1D": {"name": "strided", "filters": 4, "kernel_size": 5, "strides": 2}},
            {"AveragePooling1D": {"name": "average", "pool_size": 2, "padding": "same"}},
            {
                "Conv1DTranspose": {
                    "name": "transposed",
                    "filters": 4,
                    "kernel_size": 3,
                    "strides": 2,
                }
            },
            {"Permute": {"name": "permuted", "dims": [2, 1]}},
            {"GlobalAveragePooling1D": {"name": "pool"}},
            {"Dense": {"name": "hidden", "units": 4, "activation": "tanh"}},
            {"RepeatVector": {"name": "repeated", "n": 2}},
            {"Flatten": {"name": "flat"}},
            {"Dense": {"name": "out", "units": 5}},
        ],
    },
}
# For every optimizer of CONSTRAINED_BY
CONSTRAINED = {
    "input": [6],
    "layers": [
        {
            "Dense": {
                "name": "d1",
                "units": 9,
                "activation": "relu",
                "kernel_constraint": {"MaxNorm": {"max_value": 0.8}},
                "bias_constraint": "non_neg",
            }
        },
        {
            "Dense": {
                "name": "d2",
                "units": 5,
                "kernel_constraint": {"MinMaxNorm": {"min_value": 0.5, "rate": 0.75}},
                "bias_constraint": {"UnitNorm": {"axis": -1}},
            }
        },
    ],
}
NETWORK_OPTIMIZERS = {
    "convnet": {"Adam": {"learning_rate": 0.005}},
    "factored": {"Adafactor": {"learning_rate": 0.1}},
    "separable": {"Adam": {"learning_rate": 0.005}},
}
