"""How the scripts make Keras's classes and call its layers."""

import keras
import keras_hub

# What a layer takes when it is called, though Meshwork's files say it with its other arguments.
CALL_ARGUMENTS = ["use_causal_mask", "reverse"]
# They take several inputs as arguments, not as a list, in this order where the file does not name them.
HEADS = ["query", "value", "key", "attention_mask"]
INPUTS = {
    keras.layers.MultiHeadAttention: HEADS,
    keras.layers.GroupQueryAttention: HEADS,
    keras_hub.layers.TransformerEncoder: ["inputs", "padding_mask", "attention_mask"],
    keras_hub.layers.TransformerDecoder: [
        "decoder_sequence",
        "encoder_sequence",
        "decoder_padding_mask",
        "decoder_attention_mask",
        "encoder_padding_mask",
        "encoder_attention_mask",
    ],
}


class DotProductAttention(keras.layers.Layer):
    """Keras has it as an operation alone."""

    def __init__(self, is_causal=False, scale=None, **kwargs):
        super().__init__(**kwargs)
        self.options = {"is_causal": is_causal, "scale": scale}

    def call(self, query, key, value, mask=None):
        return keras.ops.dot_product_attention(query, key, value, mask=mask, **self.options)


INPUTS[DotProductAttention] = ["query", "key", "value", "mask"]


def make_layer(name, args):
    """A layer with the arguments of Meshwork's files: {"gelu": {"approximate": True}}."""
    if isinstance(args.get("activation"), dict):
        ((activation, options),) = args["activation"].items()
        function = keras.activations.get(activation)
        args = {**args, "activation": lambda x: function(x, **options)}
    kinds = {"_regularizer": keras.regularizers, "_constraint": keras.constraints}
    for key, value in args.items():
        for kind, module in kinds.items():
            if key.endswith(kind) and isinstance(value, dict):
                ((made, options),) = value.items()
                args = {**args, key: getattr(module, made)(**options)}
    for key in ("layer", "backward_layer"):
        if isinstance(args.get(key), dict):
            ((inner, options),) = args[key].items()
            args = {**args, key: make_layer(inner, options)}
    return find_class(name, keras.layers)(**args)


def find_class(name, module):
    """Keras's own, keras-hub's of the module of the same name, or the one that stands here."""
    if name == DotProductAttention.__name__:
        return DotProductAttention
    hub = getattr(keras_hub, module.__name__.rpartition(".")[2], None)
    return getattr(module, name, None) or getattr(hub, name)


def take_inputs(given, values, last):
    """What a layer takes, by the names that the key `inputs` has: a list, or by Keras's words."""
    if isinstance(given, dict):
        return {role: values[name] for role, name in given.items()}
    names = [given] if isinstance(given, str) else given
    return [values[name] for name in names] if names else [last]


def call_layer(layer, inputs, arguments):
    if isinstance(inputs, list) and type(layer) in INPUTS:
        inputs = dict(zip(INPUTS[type(layer)], inputs))
    if isinstance(inputs, dict):
        rest = dict(inputs)
        first = rest.pop(INPUTS[type(layer)][0])
        return layer(first, **rest, **arguments)
    return layer(inputs[0] if len(inputs) == 1 else inputs, **arguments)
