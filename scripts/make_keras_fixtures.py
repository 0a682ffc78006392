#!/usr/bin/env python3
"""Records ten training steps of Keras 3 for small models: tests/fixtures/<case>.{yaml,npz}, and for
networks of many layers: tests/fixtures/networks/<case>.{yaml,npz}; some of both under Keras's policies
mixed_bfloat16 and mixed_float16: tests/fixtures/mixed_bfloat16/<case>.{yaml,npz} and so on.

Each case is one configuration file, as Meshwork reads it, and the arrays

    x, y              the data; step i takes rows [i * batch, (i + 1) * batch)
    sample_weight     where a case has it; then, and with class_weight:
    weight_sums       the sum of the weights of each batch
    initial/<path>    variables before the first step
    losses            of each step, before its update
    metric/<name>     of each step, over its batch, before its update
    final/<path>      variables after the last step
    slot/<path>       state of the optimizer after the last step (not of networks)
    scales            under a LossScaleOptimizer: of the loss, after each step
    prediction        of the final weights for all of x

Needs keras, keras-hub, jax (CPU) and PyYAML. Usage: make_keras_fixtures.py [tests/fixtures]
"""

import io
import os
import sys
import zipfile

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"
# bfloat16 is rounded wherever Keras says so, not only where the compiler likes to.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false --xla_allow_excess_precision=false"
)

import jax
import keras
import numpy as np
import yaml

from keras_calls import CALL_ARGUMENTS, add_outputs, call_layer, find_class, make_layer, take_inputs
from keras_losses import ADDED, BRANCHES, CLASSIFIER, LOSSES, NORMALIZED, REGRESSOR, SCCE, WEIGHTED
from keras_networks import CONSTRAINED, NETWORK_OPTIMIZERS, NETWORKS
from keras_optimizers import CONSTRAINED_BY, OPTIMIZERS, OVERFLOWING, SCALE, SCALED, SCHEDULED
from keras_optimizers import scale_of, slots_of

SEED = 20240607
STEPS = 10
BATCH = 8
SCHEDULES = keras.optimizers.schedules


def make_cases():
    """name -> (model, optimizer, loss, metrics, samples, weights)"""
    cases = {}
    samples = STEPS * BATCH
    for name, optimizer in OPTIMIZERS.items():
        loss = {SCCE: {"from_logits": True}}
        cases[f"{name}__classifier"] = (CLASSIFIER, optimizer, loss, ["accuracy"], samples, {})
        cases[f"{name}__regressor"] = (REGRESSOR, optimizer, "mse", ["mae"], samples, {})
    for name, schedule in SCHEDULED.items():
        optimizer = {"SGD": {"learning_rate": schedule, "momentum": 0.5}}
        cases[f"schedule_{name}"] = (REGRESSOR, optimizer, "mse", [], samples, {})
    for name, (model, loss, metrics) in LOSSES.items():
        # There the gradient of a bias can be 0 but for rounding, which Adam would blow up.
        counts = "mae" in name or "hinge" in name
        optimizer = {"SGD" if counts else "Adam": {"learning_rate": 0.02}}
        cases[f"loss_{name}"] = (model, optimizer, loss, metrics, samples, {})
    for name, (model, loss, weights) in WEIGHTED.items():
        metrics = weights.get("weighted_metrics", [])
        optimizer = {"Adam": {"learning_rate": 0.02}}
        cases[f"weights_{name}"] = (model, optimizer, loss, metrics, samples, weights)
    for name, inner in SCALED.items():
        optimizer = {"LossScaleOptimizer": {"inner_optimizer": inner, **SCALE}}
        loss = {SCCE: {"from_logits": True}}
        weights = {"overflows": True}
        cases[f"scaled_{name}__classifier"] = (CLASSIFIER, optimizer, loss, [], samples, weights)
        cases[f"scaled_{name}__regressor"] = (REGRESSOR, optimizer, "mse", [], samples, weights)
    for name, schedule in SCHEDULED.items():
        inner = {"SGD": {"learning_rate": schedule, "momentum": 0.5}}
        optimizer = {"LossScaleOptimizer": {"inner_optimizer": inner, **SCALE}}
        cases[f"scaled_schedule_{name}"] = (REGRESSOR, optimizer, "mse", [], samples, weights)
    # The last batch has 5 samples.
    cases.update({f"added_{name}": (*case, samples - 3, {}) for name, case in ADDED.items()})
    cases["short_batch"] = (BRANCHES, "adam", loss, ["accuracy"], samples - 3, {})
    for name, optimizer in CONSTRAINED_BY.items():
        weights = {"overflows": True} if name == "scaled" else {}
        cases[f"constrained_{name}"] = (CONSTRAINED, optimizer, loss, ["accuracy"], samples, weights)
    return cases


def make_networks():
    cases = {}
    for name, network in NETWORKS.items():
        optimizer = NETWORK_OPTIMIZERS.get(name, {"SGD": {"learning_rate": 0.05, "momentum": 0.9}})
        loss = {SCCE: {"from_logits": True}}
        samples = STEPS * BATCH - (3 if name == "activities" else 0)  # the last batch has 5 samples
        cases[name] = (network, optimizer, loss, ["accuracy"], samples, {})
    return cases


def make_mixed():
    """Small steps, which do not blow up differences of rounding."""
    cases = {}
    samples = STEPS * BATCH
    loss = {SCCE: {"from_logits": True}}
    adam = {"Adam": {"learning_rate": 0.02, "epsilon": 0.1}}
    sgd = {"SGD": {"learning_rate": 0.01}}
    cases["classifier"] = (CLASSIFIER, adam, loss, ["accuracy"], samples, {})
    cases["branches"] = (BRANCHES, adam, loss, ["accuracy"], samples, {})
    cases["regressor"] = (REGRESSOR, adam, "mse", ["mae"], samples, {})
    cases["normalized"] = (NORMALIZED, adam, loss, ["accuracy"], samples, {})
    for name in ("convnet", "pools", "residual"):
        cases[name] = (NETWORKS[name], sgd, loss, ["accuracy"], samples, {})
    return cases


def make_mixed_float16():
    """The same, and one whose gradients overflow until the scale is small enough."""
    cases = make_mixed()
    inner = {"Adam": {"learning_rate": 0.02, "epsilon": 0.1}}
    scale = {"initial_scale": 2.0**22, "dynamic_growth_steps": 2}
    optimizer = {"LossScaleOptimizer": {"inner_optimizer": inner, **scale}}
    loss = {SCCE: {"from_logits": True}}
    cases["overflow"] = (CLASSIFIER, optimizer, loss, ["accuracy"], STEPS * BATCH, {})
    return cases


# ------------------------------------------------------------------------ Keras side


def parts(spec):
    """"adam" or {"Adam": {..}} -> name, arguments"""
    if isinstance(spec, str):
        return spec, {}
    ((name, args),) = spec.items()
    return name, dict(args)


def make_optimizer(spec):
    name, args = parts(spec)
    if name == "LossScaleOptimizer":
        inner = make_optimizer(args.pop("inner_optimizer"))
        return keras.optimizers.LossScaleOptimizer(inner, **args, name="loss_scale_optimizer")
    exclude = args.pop("exclude_from_weight_decay", None)
    rate = args.get("learning_rate")
    if isinstance(rate, dict):
        schedule, schedule_args = parts(rate)
        args["learning_rate"] = getattr(SCHEDULES, schedule)(**schedule_args)
    found = getattr(keras.optimizers, name, None)  # get() knows no Lamb
    optimizer = found(**args) if found else keras.optimizers.get(name)
    if exclude:
        optimizer.exclude_from_weight_decay(var_names=exclude)
    return optimizer


def make_scorer(spec, module):
    """A string stays one: Keras logs a metric under the string that was given."""
    if spec is None or isinstance(spec, str):
        return spec
    name, args = parts(spec)
    return find_class(name, module)(**args)


def make_model(spec):
    inputs = keras.Input(spec["input"])
    values, last = {"input": inputs}, inputs
    made = {}
    for layer in spec["layers"]:
        name, args = parts(layer)
        taken = take_inputs(args.pop("inputs", None), values, last)
        call = {key: args.pop(key) for key in CALL_ARGUMENTS if key in args}
        known = made[args["layer"]] if name == "use" else make_layer(name, args)
        last = add_outputs(values, args["name"], known, call_layer(known, taken, call))
        made[args["name"]] = known
    return keras.Model(inputs, last)


def make_labels(rng, samples, model, loss):
    name, args = parts(loss or "mse")
    layers = [args for layer in model["layers"] for args in layer.values()]
    units = [args["units"] for args in layers if "units" in args][-1]
    key = name.lower().replace("_", "")
    if key.startswith(("sparse", "circle", "categoricalgeneralized")):
        return rng.integers(0, units, samples).astype(np.int32)
    if key.startswith("categorical"):
        return np.eye(units, dtype=np.float32)[rng.integers(0, units, samples)]
    if key.startswith(("binary", "dice", "tversky")):
        shape = (samples,) if units == 1 else (samples, units)
        return rng.integers(0, 2, shape).astype(np.int32)
    if key == "kld":
        return rng.dirichlet(np.ones(units), samples).astype(np.float32)
    shape = (samples,) if units == 1 else (samples, units)
    if key == "hinge":
        return rng.integers(0, 2, shape).astype(np.int32)
    if key == "squaredhinge":
        return rng.choice([-1, 1], shape).astype(np.int32)
    if key == "poisson":
        return rng.poisson(1.5, shape).astype(np.float32)
    numbers = rng.normal(size=shape).astype(np.float32)
    return np.abs(numbers) + np.float32(0.5) if key in ("mape", "msle") else numbers


def initial_value(rng, variable):
    """Kernels that keep the size of what goes through them; variances and gammas around 1."""
    shape = variable.shape
    if variable.name == "moving_variance":
        return rng.uniform(0.5, 1.5, shape)
    if variable.name == "gamma":
        return rng.normal(1.0, 0.1, shape)
    if not variable.name.endswith("kernel"):
        return rng.normal(scale=0.1, size=shape)
    receptive = np.prod(shape[:-2]) * (1 if variable.name == "depthwise_kernel" else shape[-2])
    return rng.normal(scale=0.5 if len(shape) == 2 else (2 / receptive) ** 0.5, size=shape)


def weights_of(rng, y, weights):
    """sample_weight as given, and the weights that come out of it or of the classes"""
    utils = keras.src.trainers.data_adapters.data_adapter_utils
    if "class_weight" in weights:
        return None, utils.class_weight_to_sample_weights(y, weights["class_weight"])
    if "sample_weight" in weights:
        given = weights["sample_weight"]
        shape = len(y) if given is True else given
        drawn = rng.choice([0.0, 0.5, 1.0, 2.5], shape).astype(np.float32)
        return drawn, drawn
    return None, None


def make_data(rng, case):
    model, _, loss, _, samples, weights = case
    x = rng.normal(size=(samples, *model["input"])).astype(np.float32)
    if model in NETWORKS.values():
        x = np.round(8 * x) / 8  # compresses to a fifth
    y = make_labels(rng, samples, model, loss)
    for batch in OVERFLOWING if "overflows" in weights else []:
        (y if y.dtype == np.float32 else x)[batch * BATCH : (batch + 1) * BATCH] *= 1e4
    return x, y


def run(name, case, precision, data_of, slots):
    model_spec, optimizer, loss, metrics, samples, weights = case
    keras.backend.clear_session()
    keras.config.set_dtype_policy(precision)
    rng = np.random.default_rng([SEED, *name.encode()])
    x, y = data_of(rng, case)
    model = make_model(model_spec)
    arrays = {"x": x, "y": y}
    sample_weight, all_weights = weights_of(rng, y, weights)
    if sample_weight is not None:
        arrays["sample_weight"] = sample_weight
    if all_weights is not None:
        sums = [all_weights[i : i + BATCH].sum() for i in range(0, samples, BATCH)]
        arrays["weight_sums"] = np.array(sums, np.float32)
    for variable in model.weights:
        variable.assign(initial_value(rng, variable).astype(np.float32))
        arrays[f"initial/{variable.path}"] = np.asarray(variable.value)
    model.compile(
        optimizer=make_optimizer(optimizer),
        loss=make_scorer(loss, keras.losses),
        metrics=[make_scorer(m, keras.metrics) for m in metrics],
        weighted_metrics=[
            make_scorer(m, keras.metrics) for m in weights.get("weighted_metrics", [])
        ],
    )
    logs, scales = [], []
    for begin in range(0, samples, BATCH):
        model.reset_metrics()
        rows = slice(begin, begin + BATCH)
        given = {}
        if "class_weight" in weights:
            given = {"class_weight": weights["class_weight"]}
        if sample_weight is not None:
            given = {"sample_weight": sample_weight[rows]}
        # On JAX a training step loses the mask of its predictions before the metrics see them.
        masked = keras.src.backend.get_keras_mask(model(x[rows])) is not None
        test = model.test_on_batch(x[rows], y[rows], return_dict=True, **given) if masked else {}
        if model(x[rows], training=True) is not None and model.losses:
            test.pop("loss", None)  # which is without what layers add in training
        model.reset_metrics()
        logs.append({**model.train_on_batch(x[rows], y[rows], return_dict=True, **given), **test})
        scales.append(scale_of(model.optimizer))
    arrays["losses"] = np.array([log["loss"] for log in logs], np.float32)
    for key in logs[0]:
        if key != "loss":
            arrays[f"metric/{key}"] = np.array([log[key] for log in logs], np.float32)
    for variable in model.weights:
        arrays[f"final/{variable.path}"] = np.asarray(variable.value)
    if slots and name not in NETWORKS:
        for path, variable in slots_of(model.optimizer).items():
            arrays[f"slot/{path}"] = np.asarray(variable.value)
    if scales[0] is not None:
        arrays["scales"] = np.array(scales, np.float32)
    arrays["prediction"] = np.asarray(model(x)).astype(np.float32)
    for key, array in arrays.items():
        assert np.all(np.isfinite(array)), f"{name}: {key} is not finite"
    return arrays


# ----------------------------------------------------------------------------- files


def config_text(case, precision):
    model_spec, optimizer, loss, metrics, _, weights = case
    config = {
        **({} if precision == "float32" else {"precision": precision}),
        "model": model_spec,
        "compile": {"optimizer": optimizer, "loss": loss, "metrics": metrics},
        "fit": {"batch_size": BATCH, "epochs": 1, "shuffle": False},
    }
    if "weighted_metrics" in weights:
        config["compile"]["weighted_metrics"] = weights["weighted_metrics"]
    if "class_weight" in weights:
        config["fit"]["class_weight"] = weights["class_weight"]

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data):
            return True

    return yaml.dump(config, Dumper=Dumper, sort_keys=False, default_flow_style=None, width=100)


def write_npz(path, arrays):
    """As numpy.savez_compressed, but the same bytes on every run."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for key, array in arrays.items():
            text = io.BytesIO()
            np.lib.format.write_array(text, np.asarray(array, order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(key + ".npy"), text.getvalue(), zipfile.ZIP_DEFLATED)


README = """# Training steps recorded from Keras

Written by `scripts/make_keras_fixtures.py`, which says what the arrays are; do not edit by hand.
Keras {keras} on jax {jax} (CPU, float32), numpy {numpy}, Python {python}; seed {seed}; {steps} steps
of {batch} samples. {count} cases.

- `<optimizer>__classifier`, `<optimizer>__regressor`: every optimizer on two models
- `schedule_<schedule>`: every learning rate schedule
- `loss_<loss>`: every loss, with every metric at least once
- `constrained_<optimizer>`: constraints on the weights
- `weights_<what>`: class and sample weights, with weighted metrics
- `scaled_<optimizer>__<model>`, `scaled_schedule_<schedule>`: under a LossScaleOptimizer; of two batches the gradients overflow
- `short_batch`, `added_<what>`: the last batch has {last} samples; losses that layers add, beside another and alone

`networks/`: {networks} networks of convolutions, pools and normalizations, in the same form; the last batch of `activities` has {last} samples.

`mixed_bfloat16/`, `mixed_float16/`: {mixed} and {mixed_float16} of both under Keras's policies of these names, in the same form.

`layers/`: single layers, written by `scripts/make_layer_fixtures.py`.

`metrics/`: metrics that are no means, after three batches, written by `scripts/make_metric_fixtures.py`.

`sequences/`: sequences with padding, in the same form, written by `scripts/make_sequence_fixtures.py`.

`transformers/` and `mixed_bfloat16/masked_encoder`: in the same form, written by
`scripts/make_transformer_fixtures.py`.

`tokenizers/`: tokenizer.json files with texts and their numbers, and what single normalizers, pre-tokenizers and
decoders do, written by `scripts/make_tokenizer_fixtures.py` (tokenizers 0.23.3).
"""


def write_cases(folder, cases, precision="float32", data_of=make_data, slots=True):
    os.makedirs(folder, exist_ok=True)
    for name, case in cases.items():
        arrays = run(name, case, precision, data_of, slots)
        with open(os.path.join(folder, name + ".yaml"), "w") as file:
            file.write(config_text(case, precision))
        write_npz(os.path.join(folder, name + ".npz"), arrays)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/fixtures"
    cases = make_cases()
    networks = make_networks()
    mixed, mixed_float16 = make_mixed(), make_mixed_float16()
    write_cases(folder, cases)
    write_cases(os.path.join(folder, "networks"), networks)
    write_cases(os.path.join(folder, "mixed_bfloat16"), mixed, "mixed_bfloat16")
    write_cases(os.path.join(folder, "mixed_float16"), mixed_float16, "mixed_float16")
    with open(os.path.join(folder, "README.md"), "w") as file:
        file.write(
            README.format(
                keras=keras.__version__,
                jax=jax.__version__,
                numpy=np.__version__,
                python=sys.version.split()[0],
                seed=SEED,
                steps=STEPS,
                batch=BATCH,
                count=len(cases),
                last=BATCH - 3,
                networks=len(networks),
                mixed=len(mixed),
                mixed_float16=len(mixed_float16),
            )
        )


if __name__ == "__main__":
    main()
