"""How the scripts make Keras's classes and call its layers."""

import keras
import keras_hub
import numpy as np
from keras.src.applications import convnext, inception_resnet_v2
from keras.src.ops import core as core_operations
from keras.src.ops import math as math_operations
from keras.src.ops import numpy as numpy_operations
from keras_hub.src.models.mixtral.mixtral_decoder import MixtralSparseMoeBlock

# What a layer takes when it is called, though Meshwork's files say it with its other arguments.
CALL_ARGUMENTS = ["use_causal_mask", "reverse", "x1", "x2", "key"]
# They take several inputs as arguments, not as a list, in this order where the file does not name them.
HEADS = ["query", "value", "key", "attention_mask"]
TWO = ["x1", "x2"]
SEQUENCES = ["sequences", "initial_state"]
INPUTS = {
    numpy_operations.Divide: TWO,
    numpy_operations.Power: TWO,
    numpy_operations.TrueDivide: TWO,
    keras.layers.Bidirectional: SEQUENCES,
    keras.layers.GRU: SEQUENCES,
    keras.layers.LSTM: SEQUENCES,
    keras.layers.SimpleRNN: SEQUENCES,
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


def name_variables(model):
    """Gives variables that Keras numbers the names of the attributes that hold them."""
    for layer in model.layers:
        if isinstance(layer, convnext.LayerScale):
            layer.gamma._name, layer.gamma._path = "gamma", f"{layer.name}/gamma"


def take_variables(model):
    """Lets layers that keep a copy of their variables use what these have become."""
    for layer in model.layers:
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()


class DotProductAttention(keras.layers.Layer):
    """Keras has it as an operation alone."""

    def __init__(self, is_causal=False, scale=None, **kwargs):
        super().__init__(**kwargs)
        self.options = {"is_causal": is_causal, "scale": scale}

    def call(self, query, key, value, mask=None):
        return keras.ops.dot_product_attention(query, key, value, mask=mask, **self.options)


class AddLoss(keras.layers.Layer):
    """What a layer of one's own calls in Keras; the sum over the batch that Keras makes of a tensor is a mean here."""

    def __init__(self, weight=1.0, **kwargs):
        super().__init__(**kwargs)
        self.weight = weight

    def call(self, x):
        self.add_loss(self.weight * keras.ops.sum(x) / keras.ops.shape(x)[0])
        return x


class MixtureOfExperts(keras.layers.Layer):
    """keras-hub has it within the decoder of Mixtral."""

    def __init__(self, num_experts, intermediate_dim, top_k=2, router_aux_loss_coefficient=0.01, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.options = {
            "num_experts": num_experts,
            "intermediate_dim": intermediate_dim,
            "top_k": top_k,
            "router_aux_loss_coef": router_aux_loss_coefficient,
        }

    def build(self, shape):
        self.block = MixtralSparseMoeBlock(hidden_dim=shape[-1], **self.options)
        self.block.build(shape)
        for variable in self.block.weights:
            name = variable.path.replace("_dense/kernel", "_dense").rpartition("/")[2]
            part = {
                "sparse_feedforward_gate_dense": "router",
                "expert_feedforward_gate_dense": "experts/gate",
                "expert_feedforward_intermediate_dense": "experts/up",
                "expert_feedforward_output_dense": "experts/down",
            }[name]
            variable._name, variable._path = "kernel", f"{self.name}/{part}/kernel"

    def call(self, x, mask=None, training=False):
        return self.block(x, attention_mask=mask, training=training)[0]


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
    """Keras's own, keras-hub's of the module of the same name, an operation, one of an application, or the one that stands here."""
    for own in (AddLoss, DotProductAttention, MixtureOfExperts):
        if name == own.__name__:
            return own
    hub = getattr(keras_hub, module.__name__.rpartition(".")[2], None)
    places = [module, hub]
    if module is keras.layers:
        places += [numpy_operations, math_operations, core_operations, convnext, inception_resnet_v2]
    return next(getattr(place, name) for place in places if hasattr(place, name))


def take_inputs(given, values, last):
    """What a layer takes, by the names that the key `inputs` has: a list, or by Keras's words."""
    if isinstance(given, dict):
        return {
            role: [values[one] for one in name] if isinstance(name, list) else values[name]
            for role, name in given.items()
        }
    names = [given] if isinstance(given, str) else given
    return [values[name] for name in names] if names else [last]


def key_of(key):
    """What GetItem takes for ":, 0"; for a list, its parts alike."""
    text = key if isinstance(key, str) else ", ".join(map(str, key))
    return eval(f"np.s_[{text}]", {"np": np, "newaxis": None})


def call_layer(layer, inputs, arguments):
    if "key" in arguments:
        arguments = {**arguments, "key": key_of(arguments["key"])}
    if "x1" in arguments:  # a number, before the tensor
        return layer(arguments["x1"], inputs[0])
    if isinstance(inputs, list) and type(layer) in INPUTS:
        inputs = dict(zip(INPUTS[type(layer)], inputs))
    if isinstance(inputs, dict):
        rest = dict(inputs)
        first = rest.pop(INPUTS[type(layer)][0])
        mask = keras.src.backend.get_keras_mask(first)
        if "initial_state" in rest and mask is not None:
            rest["mask"] = mask  # which Keras 3.15 forgets beside another input
        return layer(first, **rest, **arguments)
    return layer(inputs[0] if len(inputs) == 1 else inputs, **arguments)


def state_names(layer):
    """What the outputs of a recurrent layer behind the first are called, in their order."""
    if isinstance(layer, keras.layers.Bidirectional):
        ways = {"forward": layer.forward_layer, "backward": layer.backward_layer}
        return [f"{way}_{name[-1]}" for way, one in ways.items() for name in state_names(one)]
    return ["state_h", "state_c"] if isinstance(layer, keras.layers.LSTM) else ["state_h"]


def add_outputs(values, name, layer, outputs):
    """Adds what a layer gives to `values`, by name; gives the first."""
    if not isinstance(outputs, (list, tuple)):
        values[name] = outputs
        return outputs
    values[name], *states = outputs
    for state_name, state in zip(state_names(layer), states, strict=True):
        values[f"{name}/{state_name}"] = state
    return outputs[0]
