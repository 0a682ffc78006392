"""Keras's operations (keras.ops) for make_layer_fixtures.py: case -> input, and a layer or several."""

from keras_attention import MASKING

POSITIVE = {"Absolute": {}}


def alone(name, args=None, shape=(5, 4)):
    return list(shape), {name: args or {}}


def behind(first, name, args=None, shape=(5, 4)):
    return list(shape), [first, {name: args or {}}]


def of_two(name):
    return [5, 4], [
        {"Absolute": {"name": "a"}},
        {"Dense": {"name": "b", "units": 4, "activation": "sigmoid", "inputs": ["input"]}},
        {name: {"inputs": ["a", "b"]}},
    ]


def taken(key, shape=(5, 4)):
    return alone("GetItem", {"key": key}, shape)


OPERATIONS = {
    "absolute": alone("Absolute"),
    "cos": alone("Cos"),
    "erf": alone("Erf"),
    "exp": alone("Exp"),
    "expm1": alone("Expm1"),
    "floor": alone("Floor"),
    "log": behind(POSITIVE, "Log"),
    "log1p": behind(POSITIVE, "Log1p"),
    "negative": alone("Negative"),
    "reciprocal": alone("Reciprocal"),
    "rsqrt": behind(POSITIVE, "Rsqrt"),
    "sign": alone("Sign"),
    "sin": alone("Sin"),
    "sqrt": behind(POSITIVE, "Sqrt"),
    "square": alone("Square"),
    "divide": of_two("Divide"),
    "divide_number": alone("Divide", {"x2": 3}),
    "divide_broadcast": (
        [5, 4],
        [
            {"Exp": {"name": "a"}},
            {"Sum": {"name": "b", "axis": -1, "keepdims": True}},
            {"TrueDivide": {"inputs": {"x1": "a", "x2": "b"}}},
        ],
    ),
    "divide_by": behind({"Exp": {}}, "Divide", {"x1": 3}),
    "power": of_two("Power"),
    "power_square": alone("Power", {"x2": 2}),
    "power_cube": alone("Power", {"x2": 3}),
    "power_root": behind(POSITIVE, "Power", {"x2": 0.25}),
    "power_below": alone("Power", {"x2": -2}),
    "power_of": alone("Power", {"x1": 2.5}),
    "sum": alone("Sum", {"axis": -1}),
    "sum_sample": alone("Sum", {"axis": -1}, [6]),
    "sum_axes": alone("Sum", {"axis": [1, -1], "keepdims": True}, [3, 5, 4]),
    "mean": alone("Mean", {"axis": 1}),
    "mean_axes": alone("Mean", {"axis": [2, 1]}),
    "max": alone("Max", {"axis": 1, "keepdims": True}, [9, 4]),
    "max_ties": behind({"Clip": {"x_min": -0.4375, "x_max": 0.4375}}, "Max", {"axis": [1, 2]}),
    "min": alone("Min", {"axis": -1}, [4, 9]),
    "min_ties": behind({"Clip": {"x_min": -0.4375, "x_max": 0.4375}}, "Min", {"axis": 1}),
    "std": alone("Std", {"axis": 1}),
    "var": alone("Var", {"axis": [-1, 1], "keepdims": True}),
    "clip": alone("Clip", {"x_min": -0.5625, "x_max": 0.9375}, [9, 4]),
    "clip_below": alone("Clip", {"x_min": 0.0625, "x_max": None}),
    "roll": alone("Roll", {"shift": 2, "axis": 1}),
    "roll_back": alone("Roll", {"shift": -7, "axis": -1}),
    "roll_axes": alone("Roll", {"shift": [1, -2], "axis": [2, 1]}, [4, 3, 2]),
    "get_first": taken(":, 0"),
    "get_last": taken("..., -1"),
    "get_list": taken([":", "1:-1", 2], [5, 4, 3]),
    "get_strides": taken(":, ::2, 1::2", [7, 6]),
    "get_strides_odd": taken(":, 1:-1:3, -3:9:2", [9, 6]),
    "get_stride_end": taken(":, 4::3", [9, 2]),
    "get_stride_wide": taken(":, 1::9", [4, 2]),
    "get_new_axis": taken(":, None, ..., 1, newaxis", [3, 4]),
    "get_sample": taken(":, 2", [4]),
    "stop_gradient": (
        [5, 4],
        [
            {"Dense": {"name": "a", "units": 3}},
            {"StopGradient": {"name": "stopped"}},
            {"Multiply": {"inputs": ["a", "stopped"]}},
        ],
    ),
    "siamese_distance": (
        [2, 4],
        [
            {"Dense": {"name": "features", "units": 3, "activation": "tanh"}},
            {"GetItem": {"name": "a", "key": ":, 0"}},
            {"GetItem": {"name": "b", "key": ":, 1", "inputs": ["features"]}},
            {"Subtract": {"inputs": ["a", "b"]}},
            {"Square": {}},
            {"Sum": {"axis": -1, "keepdims": True}},
            {"Clip": {"x_min": 1e-7, "x_max": None}},
            {"Sqrt": {}},
        ],
    ),
    "masked_operation": ([6, 3], [MASKING, {"Square": {}}, {"GlobalAveragePooling1D": {}}]),
    "masked_stop_gradient": (
        [6, 3],
        [MASKING, {"Dense": {"units": 2}}, {"StopGradient": {}}, {"GlobalAveragePooling1D": {}}],
    ),
    "masked_get_item": ([6, 3], [MASKING, {"GetItem": {"key": ":, :4"}}, {"GlobalAveragePooling1D": {}}]),
    "masked_divide": (
        [6, 3],
        [
            MASKING,
            {"Exp": {}},
            {"Divide": {"inputs": ["masking", "layer1"]}},
            {"GlobalAveragePooling1D": {}},
        ],
    ),
}
