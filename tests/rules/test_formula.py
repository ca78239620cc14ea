"""Formulas that are about a norm and are none: another power, another centre, the gain in another place."""

from __future__ import annotations

import pytest

from normlint.rules import analyse
from tests.evaluate.spines import table

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
BARE_RMS = RMS.replace("* self.weight ", "")
ON_DEMAND = {"NRM602", "NRM601", "NRM203", "NRM207"}


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


def test_a_bias_of_ones_beside_a_gain_that_starts_elsewhere_is_left_to_its_author() -> None:
    text = MODULE.format(name="LayerNorm", head="", bias="ones", body=LAYER.replace("\n", "\n        "))
    text = text.replace("torch.ones(dim)", "0.1 * torch.ones(dim)", 1)
    assert not any("added" in finding.message for finding in analyse(text).findings)


def test_a_bias_that_starts_at_ones_beside_a_gain_is_no_gain_that_is_added() -> None:
    assert codes(LAYER, bias="ones") == {"NRM406"}


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
        ("a gain before the norm", BARE_RMS, "ms = h", "h = h * self.weight\nms = h", "RMSNorm", "NRM407"),
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


def filled(suite: str, *, offset: str = "self.weight", of: str = "LayerNorm") -> set[str]:
    model = f"\nclass Model(nn.Module):\n    def _init_weights(self, m):\n        if isinstance(m, {of}):\n"
    text = MODULE.format(name="LayerNorm", head="", bias="zeros", body=LAYER.replace("\n", "\n        "))
    text = text.replace("* self.weight", f"* ({offset})")
    return {finding.code for finding in analyse(f"{text}{model}            {suite}\n").findings} - ON_DEMAND


@pytest.mark.parametrize(
    ("suite", "offset", "of"),
    table(
        ("ones", "nn.init.ones_(m.weight)", "self.weight", "LayerNorm"),
        ("ones drawn closely around one", "nn.init.normal_(m.weight, 1.0, 0.02)", "self.weight", "LayerNorm"),
        ("zeros under 1 +", "m.weight.data.zero_()", "1 + self.weight", "LayerNorm"),
        ("zeros for another class", "m.weight.data.zero_()", "self.weight", "nn.LayerNorm"),
        ("zeros for what the module owns", "nn.init.zeros_(m.up.weight)", "self.weight", "LayerNorm"),
        ("zeros for the bias", "m.bias.data.zero_()", "self.weight", "LayerNorm"),
        ("zeros behind another test", "nn.init.zeros_(m.weight)", "self.weight", 'LayerNorm) and hasattr(m, "z"'),
        ("noise for all but it", "m.weight.data.normal_()", "self.weight", "nn.Linear) or not isinstance(m, LayerNorm"),
        ("noise around a mean told last", "nn.init.normal_(m.weight, std=0.02, mean=1.0)", "self.weight", "LayerNorm"),
        ("zeros, and then its own method", "m.weight.data.zero_(); m.reset()", "self.weight", "LayerNorm"),
        ("zeros, and then more", "nn.init.zeros_(m.weight); m.weight.data.add_(1)", "self.weight", "LayerNorm"),
        ("noise whose mean is unpacked", "nn.init.normal_(m.weight, **self.how)", "self.weight", "LayerNorm"),
        (
            "noise, and ones behind a comment at the margin",
            "m.weight.data.normal_()\n#\n        if isinstance(m, LayerNorm):\n            m.weight.data.fill_(1)",
            "self.weight",
            "LayerNorm",
        ),
        ("a number near zero", "m.weight.data.fill_(1e-5)", "1 + self.weight", "LayerNorm"),
        ("a number that a flag chooses", "m.weight.data.fill_(0.0 if m.one else 1.0)", "self.weight", "LayerNorm"),
        (
            "zeros or ones",
            "nn.init.zeros_(m.weight) if m.last else nn.init.ones_(m.weight)",
            "self.weight",
            "LayerNorm",
        ),
    ),
)
def test_a_model_that_fills_its_gains_well_is_silent(suite: str, offset: str, of: str) -> None:
    assert filled(suite, offset=offset, of=of) == set()


@pytest.mark.parametrize(
    ("suite", "offset"),
    table(
        ("ones under 1 +", "m.weight.data.fill_(1.0)", "1 + self.weight"),
        ("zeros", "nn.init.zeros_(m.weight)", "self.weight"),
        ("zeros by a constant", "nn.init.constant_(m.weight, 0.0)", "self.weight"),
        ("noise", "m.weight.data.normal_(mean=0.0, std=0.02)", "self.weight"),
        ("cut noise", "nn.init.trunc_normal_(m.weight, std=0.02)", "self.weight"),
    ),
)
def test_a_model_that_fills_its_gains_badly_is_found(suite: str, offset: str) -> None:
    assert filled(suite, offset=offset) == {"NRM406"}
    assert filled(suite, offset=offset, of="(nn.Linear, LayerNorm)") == {"NRM406"}


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


@pytest.mark.parametrize(
    ("spelled", "said"),
    table(
        ("as it is", "h / (ms + self.eps)", "no square root is taken"),
        ("squared", "h / (ms + self.eps) ** 2", "no square root is taken"),
        ("to the fourth root", "h / (ms + self.eps) ** 0.25", "the root is taken twice"),
    ),
)
def test_a_wrong_power_of_the_mean_square_says_what_is_wrong(spelled: str, said: str) -> None:
    body = f"ms = h.pow(2).mean(-1, keepdim=True)\n        h = {spelled}\n        return h.type_as(x) * self.weight"
    findings = analyse(MODULE.format(name="RMSNorm", head="", bias="zeros", body=body)).findings
    assert [f.message.partition(":")[0] for f in findings if f.code == "NRM402"] == [said]
