"""Recurrent layers for make_layer_fixtures.py: case -> input, and a layer or several."""

from keras_attention import MASKING

SEQUENCE = {"units": 3, "return_sequences": True}
POOL = {"GlobalAveragePooling1D": {}}


def plain(kind, args=None):
    return [5, 2], {kind: {"units": 3, **(args or {})}}


def masked(kind, args, *behind):
    return [6, 2], [MASKING, {kind: args}, *behind]


def both_ways(kind, args, more=None):
    return {"Bidirectional": {"layer": {kind: {"units": 3, **args}}, **(more or {})}}


def masked_inside(layer, *behind):
    """Of each of 3 steps positions inside it do not count."""
    return [3, 4, 2], [MASKING, {"TimeDistributed": {"layer": layer}}, *behind]


STATES = {"LSTM": ["state_h", "state_c"], "GRU": ["state_h"], "SimpleRNN": ["state_h"]}
BOTH = {kind: [way + name[5:] for way in ("forward", "backward") for name in names] for kind, names in STATES.items()}


def handed_over(encoder, states, decoder, args, first=()):
    """A second layer goes over the input from where the first has come to, and from what Dense makes of that."""
    source = "masking" if first else "input"
    given = [f"encoder/{name}" for name in states]
    ((kind, decoder_args),) = decoder.items()
    return [6, 2], [
        *first,
        {next(iter(encoder)): {"name": "encoder", **next(iter(encoder.values()))}},
        {"Dense": {"name": "changed", "units": 3, "activation": "tanh", "inputs": [given[0]]}},
        {
            kind: {
                "name": "decoder",
                **decoder_args,
                **args,
                "inputs": {"sequences": source, "initial_state": ["changed", *given[1:]]},
            }
        },
    ]


def shown(kind, args, first=()):
    """All that a layer gives, side by side."""
    names = ["shown", *(f"shown/{name}" for name in (BOTH if "layer" in args else STATES)[kind])]
    layer = {"Bidirectional": {"name": "shown", **args}} if "layer" in args else {kind: {"name": "shown", **args}}
    return [6, 2], [*first, layer, {"Concatenate": {"inputs": names}}]


def state_cases(kind, name):
    """What becomes of states that are handed on."""
    one = {"units": 3, "return_state": True}
    both = {"layer": {kind: one}}
    own = {kind: one}
    return {
        f"{name}_states": shown(kind, one),
        f"{name}_states_backwards": shown(kind, {**one, "go_backwards": True}),
        f"masked_{name}_states": shown(kind, one, [MASKING]),
        f"masked_{name}_states_backwards": shown(kind, {**one, "go_backwards": True}, [MASKING]),
        f"masked_{name}_states_zeros": shown(kind, {**one, "zero_output_for_mask": True}, [MASKING]),
        f"bidirectional_{name}_states": shown(kind, both),
        f"masked_bidirectional_{name}_states": shown(kind, both, [MASKING]),
        f"{name}_from_states": handed_over(own, STATES[kind], {kind: SEQUENCE}, {}),
        f"training_{name}_from_states": handed_over(
            {kind: {**one, "return_sequences": True}}, STATES[kind], {kind: SEQUENCE}, {"go_backwards": True}
        ),
        f"masked_{name}_from_states": handed_over(own, STATES[kind], {kind: SEQUENCE}, {}, [MASKING]),
        f"masked_{name}_last_from_states": handed_over(own, STATES[kind], {kind: {"units": 3}}, {}, [MASKING]),
        f"bidirectional_{name}_from_states": handed_over(
            {"Bidirectional": both}, BOTH[kind], {"Bidirectional": {"layer": {kind: SEQUENCE}}}, {}
        ),
        f"masked_bidirectional_{name}_from_states": handed_over(
            {"Bidirectional": both}, BOTH[kind], {"Bidirectional": {"layer": {kind: SEQUENCE}}}, {}, [MASKING]
        ),
    }


def cases(kind, name):
    """What all of them have."""
    return {
        name: plain(kind),
        f"{name}_sequences": plain(kind, {"return_sequences": True}),
        f"{name}_backwards": plain(kind, {"return_sequences": True, "go_backwards": True}),
        f"{name}_last_backwards": plain(kind, {"go_backwards": True}),
        f"{name}_without_bias": plain(kind, {"use_bias": False}),
        f"{name}_activation": plain(kind, {"activation": "softplus"}),
        f"{name}_linear": plain(kind, {"activation": None}),
        f"training_{name}": plain(kind, {"unroll": True}),
        f"masked_{name}": masked(kind, {"units": 3}),
        f"masked_{name}_sequences": masked(kind, SEQUENCE, POOL),
        f"masked_{name}_shown": masked(kind, SEQUENCE),
        f"masked_{name}_backwards": masked(kind, {**SEQUENCE, "go_backwards": True}),
        f"masked_{name}_zeros": masked(kind, {**SEQUENCE, "zero_output_for_mask": True}),
        f"masked_{name}_last_zeros": masked(kind, {"units": 3, "zero_output_for_mask": True}),
        f"bidirectional_{name}": ([5, 2], both_ways(kind, {})),
        f"bidirectional_{name}_sequences": ([5, 2], both_ways(kind, {"return_sequences": True})),
        f"masked_bidirectional_{name}": (
            [6, 2],
            [MASKING, both_ways(kind, {"return_sequences": True}), both_ways(kind, {})],
        ),
    }


RECURRENT = {
    **cases("LSTM", "lstm"),
    **cases("GRU", "gru"),
    **cases("SimpleRNN", "simple_rnn"),
    **state_cases("LSTM", "lstm"),
    **state_cases("GRU", "gru"),
    **state_cases("SimpleRNN", "simple_rnn"),
    "gru_reset_before_from_states": handed_over(
        {"SimpleRNN": {"units": 3, "return_state": True}}, ["state_h"], {"GRU": {**SEQUENCE, "reset_after": False}}, {}
    ),
    "lstm_one_step": ([1, 2], {"LSTM": {"units": 3}}),
    "lstm_recurrent_activation": plain("LSTM", {"recurrent_activation": "hard_sigmoid"}),
    "lstm_frozen": plain("LSTM", {"trainable": False}),
    "gru_reset_before": plain("GRU", {"reset_after": False}),
    "gru_reset_before_without_bias": plain("GRU", {"reset_after": False, "use_bias": False}),
    "masked_gru_reset_before": masked("GRU", {**SEQUENCE, "reset_after": False}, POOL),
    "gru_recurrent_activation": plain("GRU", {"recurrent_activation": "tanh"}),
    "stacked": (
        [5, 2],
        [{"LSTM": {"units": 3, "return_sequences": True}}, {"GRU": {"units": 2}}, {"Dense": {"units": 2}}],
    ),
    **{
        f"bidirectional_{mode}": (
            [5, 2],
            both_ways("GRU", {"return_sequences": True}, {"merge_mode": mode}),
        )
        for mode in ("sum", "mul", "ave")
    },
    "bidirectional_of_two": (
        [5, 2],
        both_ways(
            "LSTM",
            {"return_sequences": True},
            {"backward_layer": {"GRU": {"units": 2, "return_sequences": True, "go_backwards": True}}},
        ),
    ),
    "masked_bidirectional_pooled": (
        [6, 2],
        [MASKING, both_ways("LSTM", {"return_sequences": True}), POOL],
    ),
    "time_distributed_dense": ([4, 3], {"TimeDistributed": {"layer": {"Dense": {"units": 2}}}}),
    "time_distributed_flatten": ([4, 3, 2], {"TimeDistributed": {"layer": {"Flatten": {}}}}),
    "time_distributed_conv": (
        [3, 5, 2],
        {"TimeDistributed": {"layer": {"Conv1D": {"filters": 3, "kernel_size": 2}}}},
    ),
    "time_distributed_lstm": ([3, 4, 2], {"TimeDistributed": {"layer": {"LSTM": {"units": 2}}}}),
    "time_distributed_bidirectional": (
        [3, 4, 2],
        {"TimeDistributed": {"layer": both_ways("GRU", {})}},
    ),
    **{
        f"masked_time_distributed_{name}": masked_inside({kind: {"units": 2}})
        for kind, name in (("LSTM", "lstm"), ("GRU", "gru"), ("SimpleRNN", "simple_rnn"))
    },
    "masked_time_distributed_sequences": masked_inside({"LSTM": SEQUENCE}, {"TimeDistributed": {"layer": POOL}}),
    "masked_time_distributed_bidirectional": masked_inside(both_ways("GRU", {})),
    "masked_time_distributed_average": masked_inside(POOL),
    "masked_hierarchy": masked_inside({"LSTM": {"units": 2}}, {"GRU": SEQUENCE}, {"LSTM": {"units": 3}}),
    "masked_hierarchy_bidirectional": masked_inside(POOL, both_ways("LSTM", {"return_sequences": True})),
    "mask_zero_hierarchy": (
        [3, 2],
        [
            {"Embedding": {"input_dim": 3, "output_dim": 2, "mask_zero": True}},
            {"TimeDistributed": {"layer": {"LSTM": {"units": 2}}}},
            {"LSTM": {"units": 3}},
        ],
    ),
    "masked_time_distributed": (
        [6, 2],
        [MASKING, {"TimeDistributed": {"layer": {"Dense": {"units": 3}}}}, POOL],
    ),
}
