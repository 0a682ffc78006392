"""The losses and weights of samples of make_keras_fixtures.py, and small models for them, as Meshwork's
files list them."""

CLASSIFIER = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "d1", "units": 9, "activation": "relu"}},
        {"Dense": {"name": "d2", "units": 5}},
    ],
}
PROBABILITIES = {
    "input": [3, 2],
    "layers": [
        {"Flatten": {"name": "flat"}},
        {"Dense": {"name": "d1", "units": 7, "activation": "silu"}},
        {"Dense": {"name": "d2", "units": 5, "activation": "softmax"}},
    ],
}
REGRESSOR = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "h1", "units": 8, "activation": "tanh"}},
        {"Dense": {"name": "h2", "units": 7, "activation": "tanh"}},
        {"Dense": {"name": "out", "units": 3}},
    ],
}
SCALAR = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "h1", "units": 8, "activation": "elu"}},
        {"Dense": {"name": "out", "units": 1, "use_bias": False}},
    ],
}
BRANCHES = {
    "input": [6],
    "layers": [
        {"Rescaling": {"name": "scaled", "scale": 0.5, "offset": 0.25}},
        {"Dense": {"name": "left", "units": 4, "activation": "relu"}},
        {"Dense": {"name": "right", "units": 4, "activation": "gelu", "inputs": ["scaled"]}},
        {"Add": {"name": "sum", "inputs": ["left", "right"]}},
        {"Multiply": {"name": "product", "inputs": ["left", "right"]}},
        {"Concatenate": {"name": "both", "inputs": ["sum", "product", "scaled"]}},
        {"Dense": {"name": "out", "units": 5}},
    ],
}
ADDING = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "hidden", "units": 8, "activation": "tanh"}},
        {"AddLoss": {"name": "linear", "weight": 0.3}},
        {"Reshape": {"name": "rows", "target_shape": [2, 4]}},
        {"Square": {"name": "squares"}},
        {"AddLoss": {"name": "spread", "weight": -0.02}},
        {"Flatten": {"name": "flat"}},
        {"Dense": {"name": "out", "units": 3}},
    ],
}
# Nothing else is trained for: what the last layer gives is to be small.
ALONE = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "hidden", "units": 8, "activation": "tanh"}},
        {"Dense": {"name": "out", "units": 3}},
        {"Square": {"name": "squares"}},
        {"AddLoss": {"name": "small"}},
    ],
}
SMALL_STEPS = {"SGD": {"learning_rate": 0.02, "momentum": 0.5}}
ACCUMULATED = {"SGD": {"learning_rate": 0.05, "gradient_accumulation_steps": 2}}
ADDED = {
    "beside": (ADDING, {"Adam": {"learning_rate": 0.02}}, "mse", ["mae"]),
    "accumulate": (ADDING, ACCUMULATED, "mse", ["mae"]),
    "alone": (ALONE, SMALL_STEPS, None, []),
}
NORMALIZED = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "h1", "units": 9, "activation": "tanh"}},
        {"LayerNormalization": {"name": "norm_1"}},
        {"Dense": {"name": "h2", "units": 8, "activation": "relu"}},
        {"RMSNormalization": {"name": "norm_2"}},
        {"Dense": {"name": "out", "units": 5}},
    ],
}
GATE = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "h1", "units": 8, "activation": "softplus"}},
        {"Dense": {"name": "out", "units": 2, "activation": "sigmoid"}},
    ],
}
GATE_LOGITS = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "h1", "units": 8, "activation": "leaky_relu"}},
        {"Dense": {"name": "out", "units": 1}},
    ],
}
POSITIVE = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "h1", "units": 8, "activation": "tanh"}},
        {"Dense": {"name": "out", "units": 3, "activation": "softplus"}},
    ],
}

EMBEDDED = {
    "input": [6],
    "layers": [
        {"Dense": {"name": "h1", "units": 8, "activation": "tanh"}},
        {"Dense": {"name": "out", "units": 3}},
        {"UnitNormalization": {"name": "unit"}},
    ],
}

SCCE = "SparseCategoricalCrossentropy"
LOSSES = {
    "mse": (REGRESSOR, "mse", ["mae"]),
    "mae": (REGRESSOR, "mean_absolute_error", ["MeanSquaredError"]),
    "mae_column": (SCALAR, "mae", ["mse"]),
    "huber": (REGRESSOR, {"Huber": {"delta": 0.4}}, ["mse", "mae"]),
    "mse_sum": (REGRESSOR, {"MeanSquaredError": {"reduction": "sum"}}, []),
    "scce_logits": (BRANCHES, {SCCE: {"from_logits": True}}, ["accuracy"]),
    "scce_probs": (
        PROBABILITIES,
        "sparse_categorical_crossentropy",
        ["sparse_categorical_accuracy", {"SparseTopKCategoricalAccuracy": {"k": 2}}],
    ),
    "scce_ignore": (CLASSIFIER, {SCCE: {"from_logits": True, "ignore_class": 2}}, ["acc"]),
    "cce_logits": (
        BRANCHES,
        {"CategoricalCrossentropy": {"from_logits": True}},
        ["accuracy", {"TopKCategoricalAccuracy": {"k": 3}}],
    ),
    "cce_probs": (PROBABILITIES, "categorical_crossentropy", ["categorical_accuracy"]),
    "cce_smoothing": (
        PROBABILITIES,
        {"CategoricalCrossentropy": {"label_smoothing": 0.1}},
        ["accuracy"],
    ),
    "bce_logits": (
        GATE_LOGITS,
        {"BinaryCrossentropy": {"from_logits": True}},
        [{"BinaryAccuracy": {"threshold": 0.0}}, "accuracy"],
    ),
    "bce_probs": (GATE, "binary_crossentropy", ["binary_accuracy"]),
    "bce_smoothing": (
        GATE,
        {"BinaryCrossentropy": {"from_logits": False, "label_smoothing": 0.2}},
        ["bce"],
    ),
    "bfce_logits": (
        GATE_LOGITS,
        {"BinaryFocalCrossentropy": {"from_logits": True, "apply_class_balancing": True}},
        ["binary_accuracy"],
    ),
    "bfce_probs": (
        GATE,
        {"BinaryFocalCrossentropy": {"gamma": 1.5, "label_smoothing": 0.1}},
        ["binary_crossentropy"],
    ),
    "cfce_logits": (
        CLASSIFIER,
        {"CategoricalFocalCrossentropy": {"from_logits": True, "gamma": 3.0, "alpha": 0.5}},
        ["categorical_hinge"],
    ),
    "cfce_probs": (
        PROBABILITIES,
        {"CategoricalFocalCrossentropy": {"label_smoothing": 0.1}},
        ["categorical_crossentropy"],
    ),
    "categorical_hinge": (CLASSIFIER, "categorical_hinge", ["accuracy"]),
    "cgce": (PROBABILITIES, {"CategoricalGeneralizedCrossEntropy": {"q": 0.7}}, ["accuracy"]),
    "circle": (EMBEDDED, {"Circle": {"gamma": 5.0}}, []),
    "circle_diagonal": (EMBEDDED, {"Circle": {"margin": 0.3, "remove_diagonal": False}}, []),
    "cosine": (REGRESSOR, "cosine_similarity", ["cosine_similarity"]),
    "correlation": (REGRESSOR, "mse", ["pearson_correlation", {"ConcordanceCorrelation": {}}]),
    "dice": (GATE, "dice", ["binary_accuracy"]),
    "dice_axis": (GATE, {"Dice": {"axis": -1}}, []),
    "tversky": (GATE, {"Tversky": {"alpha": 0.3, "beta": 0.8}}, []),
    "tversky_axis": (GATE, {"Tversky": {"axis": [1]}}, []),
    "hinge": (REGRESSOR, "hinge", ["squared_hinge"]),
    "hinge_signs": (REGRESSOR, {"SquaredHinge": {}}, ["hinge"]),
    "kld": (PROBABILITIES, "kld", [{"KLDivergence": {}}]),
    "log_cosh": (REGRESSOR, {"LogCosh": {}}, [{"LogCoshError": {}}]),
    "mape": (REGRESSOR, "mape", ["mean_absolute_percentage_error"]),
    "msle": (POSITIVE, "msle", [{"MeanSquaredLogarithmicError": {}}]),
    "poisson": (POSITIVE, {"Poisson": {}}, ["poisson"]),
}

# What a case has beside: class_weight or, drawn for each sample, sample_weight; weighted_metrics.
WEIGHTED = {
    "sparse": (
        CLASSIFIER,
        {SCCE: {"from_logits": True}},
        {"class_weight": {0: 0.5, 2: 3.0, 4: 0.0}, "weighted_metrics": ["accuracy"]},
    ),
    "one_hot": (
        PROBABILITIES,
        "categorical_crossentropy",
        {"class_weight": {1: 2.5, 3: 0.25}, "weighted_metrics": ["accuracy"]},
    ),
    "binary": (
        GATE_LOGITS,
        {"BinaryCrossentropy": {"from_logits": True}},
        {"class_weight": {1: 4.0}, "weighted_metrics": ["accuracy"]},
    ),
    "samples": (
        CLASSIFIER,
        {SCCE: {"from_logits": True}},
        {"sample_weight": True, "weighted_metrics": ["accuracy"]},
    ),
    "samples_mean": (
        REGRESSOR,
        {"MeanSquaredError": {"reduction": "mean_with_sample_weight"}},
        {"sample_weight": True, "weighted_metrics": ["mae"]},
    ),
    "samples_sum": (REGRESSOR, {"Huber": {"reduction": "sum"}}, {"sample_weight": True}),
    "samples_ignore": (
        CLASSIFIER,
        {SCCE: {"from_logits": True, "ignore_class": 2}},
        {"sample_weight": True},
    ),
}
