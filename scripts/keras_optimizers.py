"""The optimizers of make_keras_fixtures.py, as Meshwork's files say them, and what they keep."""

import keras
import numpy as np

OPTIMIZERS = {
    "sgd": {"SGD": {"learning_rate": 0.1}},
    "sgd_momentum": {"SGD": {"learning_rate": 0.05, "momentum": 0.9}},
    "sgd_nesterov": {"SGD": {"learning_rate": 0.05, "momentum": 0.9, "nesterov": True}},
    "sgd_decay": {"SGD": {"learning_rate": 0.1, "weight_decay": 0.05}},
    "sgd_accumulate_average": {
        "SGD": {
            "learning_rate": 0.1,
            "momentum": 0.9,
            "weight_decay": 0.05,
            "gradient_accumulation_steps": 2,
            "use_ema": True,
            "ema_momentum": 0.6,
            "ema_overwrite_frequency": 2,
        }
    },
    "sgd_loss_scale_factor": {"SGD": {"learning_rate": 0.1, "loss_scale_factor": 1000.0}},
    "sgd_global_clipnorm": {"SGD": {"learning_rate": 0.1, "global_clipnorm": 0.3}},
    "rmsprop": {"RMSprop": {"learning_rate": 0.01}},
    "rmsprop_full": {
        "RMSprop": {"learning_rate": 0.005, "rho": 0.8, "momentum": 0.9, "centered": True}
    },
    "adam": {"Adam": {"learning_rate": 0.02}},
    "adam_amsgrad": {"Adam": {"learning_rate": 0.02, "beta_2": 0.5, "amsgrad": True}},
    "adam_clipnorm": {"Adam": {"learning_rate": 0.02, "epsilon": 0.1, "clipnorm": 0.1}},
    "adam_clipvalue": {"Adam": {"learning_rate": 0.02, "epsilon": 0.1, "clipvalue": 0.02}},
    "adam_accumulate": {
        "Adam": {"learning_rate": 0.02, "clipnorm": 0.1, "gradient_accumulation_steps": 4}
    },
    "adam_average": {
        "Adam": {
            "learning_rate": 0.02,
            "use_ema": True,
            "ema_momentum": 0.8,
            "ema_overwrite_frequency": 3,
        }
    },
    "adamw": {"AdamW": {"learning_rate": 0.02}},
    "adamw_exclude": {
        "AdamW": {
            "learning_rate": 0.02,
            "weight_decay": 0.5,
            "exclude_from_weight_decay": ["bias"],
        }
    },
    "schedule_free": {"ScheduleFreeAdamW": {"learning_rate": 0.05}},
    "schedule_free_warmup": {
        "ScheduleFreeAdamW": {
            "learning_rate": 0.1,
            "beta_1": 0.8,
            "epsilon": 1e-6,
            "warmup_steps": 4,
            "weight_decay": 0.5,
            "exclude_from_weight_decay": ["bias"],
        }
    },
    "adadelta": {"Adadelta": {"learning_rate": 2.0, "rho": 0.8, "epsilon": 1e-4}},
    "adafactor": {"Adafactor": {"learning_rate": 0.5}},
    "adafactor_full": {
        "Adafactor": {
            "learning_rate": 0.05,
            "beta_2_decay": -0.6,
            "epsilon_1": 1e-4,
            "epsilon_2": 0.4,
            "clip_threshold": 0.7,
            "relative_step": False,
            "weight_decay": 0.1,
            "gradient_accumulation_steps": 2,
            "use_ema": True,
            "ema_momentum": 0.8,
        }
    },
    "adagrad": {"Adagrad": {"learning_rate": 0.1, "initial_accumulator_value": 0.02}},
    "adamax": {"Adamax": {"learning_rate": 0.02, "weight_decay": 0.1}},
    "ftrl": {"Ftrl": {"learning_rate": 0.1}},
    "ftrl_full": {
        "Ftrl": {
            "learning_rate": 0.1,
            "learning_rate_power": -0.7,
            "initial_accumulator_value": 0.2,
            "l1_regularization_strength": 0.001,
            "l2_regularization_strength": 0.01,
            "l2_shrinkage_regularization_strength": 0.005,
            "beta": 0.1,
        }
    },
    "lamb": {"Lamb": {"learning_rate": 0.02, "epsilon": 1e-3}},
    "lion": {"Lion": {"learning_rate": 0.005, "weight_decay": 0.1}},
    "muon": {"Muon": {"learning_rate": 0.02}},
    "muon_full": {
        "Muon": {
            "learning_rate": 0.01,
            "momentum": 0.8,
            "nesterov": False,
            "ns_steps": 3,
            "rms_rate": None,
            "weight_decay": 0.5,
            "adam_weight_decay": 0.2,
            "adam_lr_ratio": 0.5,
            "adam_beta_1": 0.8,
            "adam_beta_2": 0.9,
            "exclude_layers": ["^(d1|h1)/"],
        }
    },
    "nadam": {"Nadam": {"learning_rate": 0.02}},
}

# Around others, in whose data two batches have gradients that overflow.
SCALED = {
    "adam": {"Adam": {"learning_rate": 0.02}},
    "adamw_clipnorm": {"AdamW": {"learning_rate": 0.02, "clipnorm": 0.1}},
    "adafactor": {"Adafactor": {"learning_rate": 0.02}},
    "accumulate_average": OPTIMIZERS["sgd_accumulate_average"],
}

SCHEDULED = {
    "exponential": {
        "ExponentialDecay": {
            "initial_learning_rate": 0.1,
            "decay_steps": 3,
            "decay_rate": 0.6,
            "staircase": True,
        }
    },
    "piecewise": {"PiecewiseConstantDecay": {"boundaries": [2, 6], "values": [0.2, 0.1, 0.02]}},
    "polynomial": {
        "PolynomialDecay": {
            "initial_learning_rate": 0.2,
            "decay_steps": 4,
            "end_learning_rate": 0.01,
            "power": 2.0,
            "cycle": True,
        }
    },
    "cosine": {
        "CosineDecay": {
            "initial_learning_rate": 0.0,
            "decay_steps": 6,
            "alpha": 0.1,
            "warmup_target": 0.2,
            "warmup_steps": 3,
        }
    },
    "inverse_time": {
        "InverseTimeDecay": {"initial_learning_rate": 0.2, "decay_steps": 2, "decay_rate": 0.5}
    },
    "restarts": {
        "CosineDecayRestarts": {
            "initial_learning_rate": 0.2,
            "first_decay_steps": 3,
            "t_mul": 1.5,
            "m_mul": 0.8,
            "alpha": 0.05,
        }
    },
}

# Gradients of the batches that do not overflow end two doublings below.
SCALE = {"initial_scale": 2.0**118, "dynamic_growth_steps": 3}
OVERFLOWING = [3, 6]
# Of weights with constraints
CONSTRAINED_BY = {
    "sgd": {"SGD": {"learning_rate": 0.1, "momentum": 0.9}},
    "average": {
        "Adam": {
            "learning_rate": 0.02,
            "use_ema": True,
            "ema_momentum": 0.7,
            "ema_overwrite_frequency": 3,
        }
    },
    "accumulate": {"AdamW": {"learning_rate": 0.02, "gradient_accumulation_steps": 3}},
    "scaled": {"LossScaleOptimizer": {"inner_optimizer": {"Adam": {"learning_rate": 0.02}}, **SCALE}},
}


def scale_of(optimizer):
    """Of the loss, where it is scaled and has been"""
    scales = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return float(np.asarray(optimizer.dynamic_scale.value)) if scales else None


def is_slot(optimizer, variable):
    """The number of steps is one where some are left out."""
    owner, _, name = variable.path.rpartition("/")
    if name == "iteration":
        return scale_of(optimizer) is not None and owner != optimizer.name
    return name != "learning_rate"


def given_paths(optimizer):
    """By the identity of those slots that Keras names like others, or not at all; None: no slot."""
    paths = {id(v): "nadam/u_product" for v in optimizer.variables if v.path == "variable"}
    if isinstance(optimizer, keras.optimizers.Adafactor):
        for weight, r, c in zip(optimizer._trainable_variables, optimizer._r, optimizer._c):
            base = f"{optimizer.name}/{weight.path.replace('/', '_')}"
            is_factored = len(weight.shape) >= 2
            paths[id(r)] = f"{base}_r" if is_factored else None
            paths[id(c)] = f"{base}_c" if is_factored else None
    return paths


def slots_of(optimizer):
    """Variables by Meshwork's paths"""
    paths = given_paths(getattr(optimizer, "inner_optimizer", optimizer))
    slots = [v for v in optimizer.variables if is_slot(optimizer, v)]
    named = {paths.get(id(v), v.path): v for v in slots}
    return {path: v for path, v in named.items() if path is not None}
