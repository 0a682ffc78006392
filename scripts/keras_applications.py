"""Layers of keras.applications for make_layer_fixtures.py: case -> input, and a layer or several."""

APPLICATIONS = {
    "layer_scale": ([4, 3], {"LayerScale": {"init_values": 1e-6, "projection_dim": 3}}),
    "custom_scale": (
        [4, 4, 3],
        [
            {"Conv2D": {"filters": 3, "kernel_size": 1}},
            {"CustomScaleLayer": {"scale": 0.17, "inputs": ["input", "layer"]}},
        ],
    ),
    "stochastic_depth": ([4, 3], {"StochasticDepth": {"drop_path_rate": 0.25}}),
}
