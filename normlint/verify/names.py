"""Recognise the purpose of a norm's parameters by their names."""

from __future__ import annotations

import re
from typing import Final

FEATURES: Final = frozenset(
    """hidden_size dim channels size embedding_dim num_channels c_in channel_dim d_model d width features ndim emb_dim
    n_embd head_dim num_features in_channels embed_dim hidden_dim hidden model_dim n_channels n_features in_features
    input_dim input_size dims feature_dim d_head dim_head nf n c emb_size embedding_size inner_dim in_dim num_hiddens
    feat_size""".split()
)
SHAPES: Final = frozenset("normalized_shape param_shape normalization_shape shape norm_shape weight_shape".split())
COUNTS: Final = frozenset(
    "n_groups num_groups groups ngroups heads num_heads n_heads nheads n_head num_norm_heads".split()
)
GROUP_SIZES: Final = frozenset("group_size norm_group_size".split())
CONFIGS: Final = frozenset("config cfg conf args opts hparams params configuration model_args settings".split())
GAINS: Final = frozenset("weight gamma scale g gain w a_2 alpha scales rms_weight norm_weight".split())
SHIFTS: Final = frozenset("bias beta shift b b_2 offset".split())
SURE_GAINS: Final = frozenset("weight gamma g gain w norm_weight rms_weight".split())
EPS_ATTRIBUTES: Final = ("eps", "epsilon", "variance_epsilon", "norm_eps", "layer_norm_eps", "rms_norm_eps", "e")

_EPS: Final = re.compile(r"(^|_)eps(ilon)?($|_|\d)")
_FEATURES: Final = re.compile(r"(dim|size|channels|features|width|hidden|embd?|model|chs)s?$")
_RESIDUAL: Final = re.compile(r"resid|skip|identity|input_tensor|shortcut|^res$")
_GATE: Final = re.compile(r"gate|^z$|^g$")
_CONDITION: Final = re.compile(r"cond|emb|context|style|time|^t$|^c$|^s$|class|label|latent|adapt|modulat|^y$")
_ZERO_ONE: Final = re.compile(r"drop|prob|^p$|rate")


def is_eps(name: str) -> bool:
    """Return whether a parameter of this name takes eps."""
    return bool(_EPS.search(name.lower()))


def is_features(name: str) -> bool:
    """Return whether a parameter of this name takes the number of features."""
    return name.lower() in FEATURES or bool(_FEATURES.search(name.lower()))


def is_rate(name: str) -> bool:
    """Return whether a parameter of this name takes a rate or probability, as dropout does."""
    return bool(_ZERO_ONE.search(name.lower()))


def input_role(name: str) -> str:
    """Return the role of a further input of a forward: gain, shift, residual, gate, mask, ...; "" where unknown."""
    low = name.lower()
    for role, found in (
        ("eps", is_eps(low)),
        ("axis", low in ("dim", "axis", "dims", "axes", "reduce_dim", "norm_dim")),
        ("shape", low in SHAPES),
        ("residual", bool(_RESIDUAL.search(low))),
        ("mask", "mask" in low),
        ("gate", bool(_GATE.search(low))),
        ("scale", low in ("scale", "alpha", "scales") or low.endswith("_scale")),
        ("gain", low in GAINS or low.endswith(("_weight", "_gain", "_gamma"))),
        ("shift", low in SHIFTS or low.endswith(("_bias", "_shift", "_beta"))),
        ("condition", bool(_CONDITION.search(low))),
        ("features", is_features(low)),
    ):
        if found:
            return role
    return ""
