"""What is a norm over features: names, gains and axes, for and against."""

from __future__ import annotations

from fractions import Fraction

import pytest

from normlint.norm.conventions import intent
from tests.evaluate.spines import function, norms, only, table

RMS = "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)"
LAYER = "(x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)"
L2 = "x / x.norm(dim=-1, keepdim=True)"


@pytest.mark.parametrize(
    ("name", "meant"),
    table(
        ("a silent name", "forward", ""),
        ("an optimizer", "RMSprop.step", ""),
        ("an error", "AngleRMSE.forward", ""),
        ("an error with underscores", "rmse_loss", ""),
        ("batch norm", "BatchNorm2d.forward", "other"),
        ("group norm", "group_norm", "groups"),
        ("weight norm", "weight_norm", "other"),
        ("a response norm", "LocalResponseNorm", "other"),
        ("advantages", "normalize_advantages", "other"),
        ("standardisation", "standardise", "other"),
        ("standardization", "standardize", "other"),
        ("gradients", "clip_grad_norm", "other"),
        ("an RMS norm", "LlamaRMSNorm.forward", "rms"),
        ("an RMS norm with an underscore", "rms_norm", "rms"),
        ("an L2 norm", "l2_normalize", "l2"),
        ("a scale norm", "ScaleNorm.forward", "l2"),
        ("a layer norm", "LayerNorm.forward", "layer"),
        ("a short layer norm", "ln_f", "layer"),
        ("a pixel norm", "PixelNorm.forward", "pixel"),
        ("a norm", "MyNorm.forward", "norm"),
    ),
)
def test_a_name_says_what_was_meant(name: str, meant: str) -> None:
    assert intent(name) == meant


@pytest.mark.parametrize(
    ("name", "result"),
    table(
        ("another norm by its name", "group_norm", RMS),
        ("another norm, also with a gain", "batch_norm", f"{RMS} * weight"),
        ("a power that no norm has", "rms_norm", RMS.replace("torch.rsqrt", "").replace("1e-6)", "1e-6) ** 3")),
        ("a share of the sum", "share", "x / x.sum(-1, keepdim=True)"),
        ("a share of the sum, with a gain", "share", "x / x.sum(-1, keepdim=True) * weight"),
        ("a division by the mean", "norm", "x / x.mean(-1, keepdim=True)"),
        ("an inverse root by itself", "scale", "torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)"),
        ("an inverse mean", "norm", "1 / x.square().mean(-1, keepdim=True)"),
        ("rewards", "scale_rewards", LAYER),
        ("images", "prepare_images", RMS),
        ("data over the batch", "prepare", LAYER.replace("-1", "0")),
        ("a loss", "forward_loss", RMS),
        ("no root without name or gain", "scale", RMS.replace("torch.rsqrt", "")),
        ("a scale for everything", "scale", RMS.replace("-1, keepdim=True", "")),
        ("a length of everything", "l2", L2.replace("dim=-1, keepdim=True", "")),
        ("the batch axis without name or gain", "scale", RMS.replace("-1", "0")),
        ("a middle axis without name or gain", "scale", RMS.replace("-1", "2")),
        ("numpy's arrays", "l2_norm", "(y := x.numpy()) / (y ** 2).sum(-1, keepdims=True) ** 0.5"),
        ("an instance norm", "scale", RMS.replace("-1", "(2, 3)")),
        ("an instance norm with a name", "my_norm", RMS.replace("-1", "(2, 3)")),
    ),
)
def test_what_is_no_norm_over_features_is_silent(name: str, result: str) -> None:
    assert norms(function(f"return {result}", "x, weight", name=name)) == ()


@pytest.mark.parametrize(
    ("name", "result", "kind"),
    table(
        ("the last axis, given back", "scale", RMS, "rms"),
        ("a gain", "scale", f"{RMS} * weight", "rms"),
        ("a name", "rms_norm", RMS, "rms"),
        ("a name and no root", "rms_norm", RMS.replace("torch.rsqrt", ""), "rms"),
        ("a gain and no root", "scale", f"{RMS.replace('torch.rsqrt', '')} * weight", "rms"),
        ("a name and a mean of sizes", "rms_norm", "x * torch.rsqrt(x.abs().mean(-1, keepdim=True) + 1e-6)", "rms"),
        ("a name, a gain and a mean", "my_norm", "x * torch.rsqrt(x.mean(-1, keepdim=True) + 1e-6) * weight", "rms"),
        ("an inverse root by name", "rms_norm", "torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)", "rms"),
        ("a scale for everything by name", "rms_norm", RMS.replace("-1, keepdim=True", ""), "rms"),
        ("a scale for everything with a gain", "scale", f"{RMS.replace('-1, keepdim=True', '')} * weight", "rms"),
        ("a length of everything with both", "l2norm", f"{L2.replace('dim=-1, keepdim=True', '')} * weight", "l2"),
        ("the batch axis with name and gain", "rms_norm", f"{RMS.replace('-1', '0')} * weight", "rms"),
        ("channels first by name", "rms_norm", RMS.replace("-1", "1"), "rms"),
        ("an L2 norm", "scale", L2, "l2"),
        ("an L2 norm over channels", "scale", L2.replace("-1", "1"), "l2"),
        ("an L2 norm that is called RMS", "rms_norm", L2, "rms"),
        ("a layer norm", "layer_norm", LAYER, "layer"),
        ("a layer norm over the last axis", "scale", LAYER.replace("(-1, k", "(-1, unbiased=False, k"), "layer"),
        ("a size of what is centred", "layer_norm", LAYER.replace("x.std(", "(x - x.mean(-1, True)).abs().mean("), ""),
    ),
)
def test_what_is_a_norm_over_features_is_listed(name: str, result: str, kind: str) -> None:
    assert [n.kind for n in norms(function(f"return {result}", "x, weight", name=name))] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("shape", "listed"),
    table(
        ("a gain along the last axis", "torch.ones(dim)", True),
        ("a gain along the channels", "torch.ones(dim, 1, 1)", False),
        ("a gain without a shape", "make(dim)", False),
    ),
)
def test_the_axes_of_an_image_are_features_only_if_the_gain_lies_last(shape: str, listed: bool) -> None:
    text = f"""import torch
from torch import nn


class MyNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter({shape})

    def forward(self, x):
        return {RMS.replace("-1", "(1, 2, 3)")} * self.weight
"""
    assert bool(norms(text)) is listed


@pytest.mark.parametrize(
    ("name", "judged"),
    table(("a pixel norm does as it likes", "pixel_norm", False), ("an RMS norm is judged", "rms_norm", True)),
)
def test_a_pixel_norm_is_listed_and_not_judged(name: str, judged: bool) -> None:
    norm = only(function(f"return {RMS.replace('-1', '1')}", "x", name=name))
    assert bool(norm.judged) is judged


@pytest.mark.parametrize(
    "text",
    table(
        (
            "numpy",
            "import numpy as np\n\n\ndef rms_norm(x):\n    return x / np.sqrt((x * x).mean(-1, keepdims=True))\n",
        ),
        (
            "jax",
            "import jax.numpy as jnp\n\n\ndef rms_norm(x):\n    return x / jnp.sqrt((x * x).mean(-1, keepdims=True))\n",
        ),
    ),
)
def test_arrays_of_another_library_are_not_judged(text: str) -> None:
    assert norms(text) == ()


def test_a_unit_vector_is_listed_where_a_sum_of_it_meets_what_a_layer_makes() -> None:
    text = """
class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.out = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.g = nn.Parameter(torch.ones(dim, 1))

    def forward(self, x):
        query, key = self.q(x), self.k(x)
        weights = F.normalize(query @ self.g, dim=1)
        pooled = torch.sum(weights * query, dim=1).unsqueeze(1)
        return self.out(pooled * key) + query
"""
    assert [
        norm.kind for norm in norms("import torch\nimport torch.nn.functional as F\nfrom torch import nn\n" + text)
    ] == ["l2"]


def test_a_length_along_an_axis_that_callers_may_choose_is_that_of_its_default() -> None:
    text = (
        "import torch\n\ndef rms_norm(x, dim=-1, eps=1e-5):\n"
        "    length = x.norm(p=2, dim=dim, keepdim=True) / x.size(dim) ** 0.5\n    return x / (length + eps)\n"
    )
    (norm,) = norms(text)
    assert (norm.kind, norm.main.feature_power) == ("rms", Fraction(1, 2))
