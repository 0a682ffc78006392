"""Models of recurrent layers for keras_round_trip_cases.py."""

OUTPUTS = 3  # of each of its models

ALL_STEPS = {"units": 4, "return_sequences": True}
RECURRENT = {
    "input": {"shape": [6], "dtype": "int32"},
    "layers": [
        {"Embedding": {"input_dim": 11, "output_dim": 5, "mask_zero": True}},
        {
            "Bidirectional": {
                "layer": {
                    "LSTM": {
                        **ALL_STEPS,
                        "recurrent_activation": "hard_sigmoid",
                        "recurrent_initializer": "glorot_normal",
                        "kernel_regularizer": {"L2": {"l2": 0.001}},
                    }
                }
            }
        },
        {"GRU": ALL_STEPS},
        {"TimeDistributed": {"layer": {"Dense": {"units": 3, "activation": "tanh"}}}},
        {"GRU": {**ALL_STEPS, "reset_after": False, "go_backwards": True}},
        {"LSTM": {**ALL_STEPS, "unit_forget_bias": False, "unroll": True}},
        {
            "Bidirectional": {
                "layer": {"GRU": {**ALL_STEPS, "name": "onwards"}},
                "backward_layer": {"SimpleRNN": {**ALL_STEPS, "go_backwards": True}},
                "merge_mode": "sum",
            }
        },
        {"SimpleRNN": {"units": 4}},
        {"Dense": {"units": OUTPUTS}},
    ],
}

# Keras gives a layer beside an initial_state no mask, so there is none.
STATES = {
    "input": {"shape": [6], "dtype": "int32"},
    "layers": [
        {"Embedding": {"name": "words", "input_dim": 11, "output_dim": 5}},
        {"LSTM": {"name": "read", "units": 4, "return_state": True}},
        {
            "Bidirectional": {
                "name": "both",
                "layer": {"LSTM": {"units": 2, "return_state": True}},
                "inputs": ["words"],
            }
        },
        {"Concatenate": {"name": "carry", "inputs": ["both/backward_h", "both/forward_c"]}},
        {
            "LSTM": {
                "name": "write",
                **ALL_STEPS,
                "inputs": {"sequences": "words", "initial_state": ["read/state_h", "carry"]},
            }
        },
        {
            "GRU": {
                "name": "on",
                **ALL_STEPS,
                "return_state": True,
                "inputs": {"sequences": "write", "initial_state": ["read/state_c"]},
            }
        },
        {
            "Bidirectional": {
                "name": "again",
                "layer": {"SimpleRNN": {"units": 4}},
                "inputs": {"sequences": "on", "initial_state": ["on/state_h", "read"]},
            }
        },
        {"Dense": {"name": "out", "units": OUTPUTS}},
    ],
}
