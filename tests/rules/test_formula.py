"""Formulas that are about a norm and are none: another power, another centre, the gain in another place."""

from __future__ import annotations

import pytest

from normlint.rules import analyse
from tests.spines import table

MODULE = """
import torch
from torch import nn

class {name}(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.{bias}(dim))

{head}    def forward(self, x):
        h = x.float()
        {body}
"""
LAYER = (
    "mu = h.mean(-1, keepdim=True)\nvar = (h - mu).pow(2).mean(-1, keepdim=True)\n"
    "h = (h - mu) / torch.sqrt(var + self.eps)\nreturn h.type_as(x) * self.weight + self.bias"
)
RMS = (
    "ms = h.pow(2).mean(-1, keepdim=True)\nh = h * torch.rsqrt(ms + self.eps)\n"
    "return h.type_as(x) * self.weight + self.bias"
)
ON_DEMAND = {"NRM602", "NRM601", "NRM203"}


def codes(body: str, name: str = "LayerNorm", head: str = "", bias: str = "zeros") -> set[str]:
    text = MODULE.format(name=name, head=head, bias=bias, body=body.replace("\n", "\n        "))
    return {finding.code for finding in analyse(text).findings} - ON_DEMAND


MS, VAR = "h.pow(2).mean(-1, keepdim=True)", "(h - mu).pow(2).mean(-1, keepdim=True)"
NUMERATOR = "(h - mu) / torch"


@pytest.mark.parametrize(
    ("base", "old", "new", "name"),
    table(
        ("a layer norm", LAYER, "", "", "LayerNorm"),
        ("an RMS norm", RMS, "", "", "RMSNorm"),
        ("a length of the order four", RMS, "h.pow(2)", "h.pow(4)", "Scaler"),
        ("a signal over its noise", LAYER, NUMERATOR, "mu / torch", "SignalToNoise"),
        ("empty input given back", LAYER, "mu =", "if x.numel() == 0:\n    return x\nmu =", "LayerNorm"),
        ("a mean square of a reshaped input", RMS, "ms = h", "ms = h.reshape(-1, h.size(-1)).view_as(h)", "RMSNorm"),
    ),
)
def test_a_formula_that_is_sound_or_claims_nothing_is_silent(base: str, old: str, new: str, name: str) -> None:
    body = base.replace(old, new) if old else base
    if name == "Scaler":
        body = body.replace("torch.rsqrt(ms + self.eps)", "(ms + self.eps) ** -0.25")
    assert codes(body, name) - {"NRM201"} == set()


def test_a_bias_that_starts_at_ones_beside_a_gain_is_silent() -> None:
    assert codes(LAYER, bias="ones") == set()


@pytest.mark.parametrize(
    ("base", "old", "new", "name", "code"),
    table(
        ("cubes for squares", RMS, "h.pow(2)", "(h ** 3)", "RMSNorm", "NRM403"),
        ("fourth powers for squares", RMS, "h.pow(2)", "(h ** 4)", "RMSNorm", "NRM403"),
        ("an eps that is subtracted", RMS, "ms + self", "ms - self", "RMSNorm", "NRM303"),
        ("the mean instead of the deviation", LAYER, NUMERATOR, "(mu - self.eps) / torch", "LayerNorm", "NRM404"),
        ("the mean added", LAYER, NUMERATOR, "(h + mu) / torch", "LayerNorm", "NRM404"),
        ("the mean added under the root", LAYER, "var = (h - mu)", "var = (h + mu)", "LayerNorm", "NRM404"),
        ("mean and variance swapped", LAYER, "- mu) / torch.sqrt(var", "- var) / torch.sqrt(mu", "LayerNorm", "NRM403"),
        ("a gain that is added", RMS, "* self.weight + self.bias", "+ self.weight", "RMSNorm", "NRM407"),
        ("a gain that divides", RMS, "* self.weight", "/ self.weight", "RMSNorm", "NRM407"),
        ("an input that is given back", RMS, "h.type_as(x)", "x", "RMSNorm", "NRM407"),
        ("a variance of what was flattened", LAYER, VAR, "torch.flatten(h).var(-1)", "LayerNorm", "NRM101"),
        ("a mean square of what was flattened", RMS, MS, "h.reshape(-1).pow(2).mean(-1)", "RMSNorm", "NRM101"),
        ("an argument too many", RMS, "h.pow(2)", "h.square(h)", "RMSNorm", "NRM506"),
    ),
)
def test_a_formula_that_is_wrong_is_found(base: str, old: str, new: str, name: str, code: str) -> None:
    assert code in codes(base.replace(old, new), name)


def test_a_forward_without_gradient_never_trains_its_gain() -> None:
    assert codes(LAYER, head="    @torch.no_grad()\n") == {"NRM405"}


@pytest.mark.parametrize(
    ("scale", "message"),
    table(
        ("a root plus eps", "/ (torch.sqrt(ms) + self.eps)", "after the root: NaN gradient at a zero row"),
        ("an inverse root plus eps", "* (torch.rsqrt(ms) + self.eps)", "to the inverse root: a zero row gives NaN"),
        ("a deviation plus eps", "/ (h.std(-1, keepdim=True, correction=0) + self.eps)", "rows of small spread"),
    ),
)
def test_a_message_tells_where_eps_stands_and_what_comes_of_it(scale: str, message: str) -> None:
    body = LAYER.replace("h = (h - mu) / torch.sqrt(var + self.eps)", f"ms = var\nh = (h - mu) {scale}")
    text = MODULE.format(name="LayerNorm", head="", bias="zeros", body=body.replace("\n", "\n        "))
    assert [message in f.message for f in analyse(text).findings if f.code == "NRM302"] == [True]
