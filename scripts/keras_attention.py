"""Layers of attention for make_layer_fixtures.py: case -> input, and a layer or several."""

MASKED = 0.1875
MASKING = {"Masking": {"name": "masking", "mask_value": MASKED}}

HEADS = {"num_heads": 2, "key_dim": 3}
# Without dropout Keras 3.15 cannot compute values of another width on JAX.
VALUES = {**HEADS, "value_dim": 2, "dropout": 0.5}
GROUPS = {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2}


def attention(kind, args, inputs="qv", source="input"):
    """Query, value and key come from one sequence."""
    layers = [
        {"Dense": {"name": name, "units": 3, "inputs": [source]}} for name in sorted(set(inputs))
    ]
    return [5, 2], [*layers, {kind: {"inputs": list(inputs), **args}}]


def masked_attention(kind, args, inputs="qv"):
    shape, layers = attention(kind, args, inputs, "masking")
    return shape, [MASKING, *layers, {"GlobalAveragePooling1D": {}}]


def cross_attention(kind, args):
    """The value has a mask, the query, of as many steps, has none."""
    query = {"Conv1D": {"name": "q", "filters": 3, "kernel_size": 1, "inputs": ["masking"]}}
    value = {"Dense": {"name": "v", "units": 3, "inputs": ["masking"]}}
    return [5, 2], [MASKING, query, value, {kind: {"inputs": ["q", "v"], **args}}]


def attention_mask(kind, args):
    """A mask for each query: the queries by the keys, of which ReLU leaves some."""
    layers = [
        {"Dense": {"name": "q", "units": 3, "inputs": ["input"]}},
        {"Dense": {"name": "mask", "units": 5, "activation": "relu", "inputs": ["input"]}},
        {kind: {"inputs": ["q", "q", "q", "mask"], **args}},
    ]
    return [5, 2], layers


ATTENTION = {
    "attention": attention("Attention", {}),
    "attention_key": attention("Attention", {}, "qvk"),
    "attention_of_itself": attention("Attention", {}, "qqq"),
    "attention_scaled_causal": attention(
        "Attention", {"use_scale": True, "use_causal_mask": True}, "qvk"
    ),
    "attention_concat": attention("Attention", {"score_mode": "concat"}),
    "attention_concat_scaled": attention(
        "Attention", {"score_mode": "concat", "use_scale": True}, "qvk"
    ),
    "masked_attention": masked_attention("Attention", {}),
    "masked_attention_causal": masked_attention("Attention", {"use_causal_mask": True}, "qvk"),
    "masked_attention_cross": cross_attention("Attention", {}),
    "additive_attention": attention("AdditiveAttention", {}),
    "additive_attention_plain": attention("AdditiveAttention", {"use_scale": False}, "qvk"),
    "masked_additive_attention": masked_attention(
        "AdditiveAttention", {"use_causal_mask": True}, "qvk"
    ),
    "masked_additive_attention_cross": cross_attention("AdditiveAttention", {}),
    "multi_head": attention("MultiHeadAttention", HEADS),
    "multi_head_key": attention("MultiHeadAttention", HEADS, "qvk"),
    "multi_head_of_itself": attention("MultiHeadAttention", {**HEADS, "use_causal_mask": True}, "qq"),
    "multi_head_value_dim": attention(
        "MultiHeadAttention", {**VALUES, "use_bias": False, "output_shape": [2, 3]}
    ),
    "multi_head_window": attention("MultiHeadAttention", {**HEADS, "sliding_window": 2}),
    "multi_head_window_causal": attention(
        "MultiHeadAttention", {**HEADS, "sliding_window": 3, "use_causal_mask": True}
    ),
    "multi_head_gate": attention("MultiHeadAttention", {**VALUES, "use_gate": True}),
    "multi_head_planes": ([3, 2, 4], {"MultiHeadAttention": {**HEADS, "inputs": ["input", "input"]}}),
    "multi_head_axis": (
        [3, 2, 4],
        {"MultiHeadAttention": {**HEADS, "attention_axes": [2], "inputs": ["input", "input"]}},
    ),
    "multi_head_first_axis": (
        [3, 2, 4],
        {"MultiHeadAttention": {**HEADS, "attention_axes": 1, "inputs": ["input", "input"]}},
    ),
    "multi_head_cross": (
        [6, 3],
        [
            {"Conv1D": {"name": "q", "filters": 3, "kernel_size": 3, "inputs": ["input"]}},
            {"MultiHeadAttention": {**HEADS, "inputs": ["q", "input"]}},
        ],
    ),
    "multi_head_mask": attention_mask("MultiHeadAttention", {**HEADS, "dropout": 0.5}),
    "masked_multi_head": masked_attention("MultiHeadAttention", {**HEADS, "dropout": 0.5}),
    "masked_multi_head_causal": masked_attention(
        "MultiHeadAttention", {**HEADS, "use_causal_mask": True, "dropout": 0.5}, "qvk"
    ),
    "masked_multi_head_cross": cross_attention("MultiHeadAttention", {**HEADS, "dropout": 0.5}),
    "group_query": attention("GroupQueryAttention", GROUPS),
    "group_query_causal": attention(
        "GroupQueryAttention", {**GROUPS, "use_causal_mask": True, "use_bias": False}, "qvk"
    ),
    "group_query_one": attention(
        "GroupQueryAttention", {**GROUPS, "num_key_value_heads": 1, "use_gate": True}
    ),
    "group_query_window": attention("GroupQueryAttention", {**GROUPS, "sliding_window": 2}),
    "group_query_mask": attention_mask(
        "GroupQueryAttention", {**GROUPS, "use_causal_mask": True, "dropout": 0.5}
    ),
    "masked_group_query": masked_attention("GroupQueryAttention", {**GROUPS, "dropout": 0.5}),
    "masked_group_query_cross": cross_attention("GroupQueryAttention", {**GROUPS, "dropout": 0.5}),
}
