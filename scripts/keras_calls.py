"""How the scripts make Keras's classes and call its layers."""

import keras
import keras_hub

# What a layer takes when it is called, though Meshwork's files say it with its other arguments.
CALL_ARGUMENTS = ["use_causal_mask", "reverse"]
# They take several inputs as arguments, not as a list: query, value, key, and a mask.
HEAD_ATTENTION = (keras.layers.MultiHeadAttention, keras.layers.GroupQueryAttention)


def find_class(name, module):
    """Keras's own, or keras-hub's of the module of the same name."""
    hub = getattr(keras_hub, module.__name__.rpartition(".")[2])
    return getattr(module, name, None) or getattr(hub, name)


def call_layer(layer, inputs, arguments):
    if isinstance(layer, HEAD_ATTENTION):
        mask = {"attention_mask": inputs[3]} if len(inputs) > 3 else {}
        return layer(*inputs[:3], **mask, **arguments)
    return layer(inputs[0] if len(inputs) == 1 else inputs, **arguments)
