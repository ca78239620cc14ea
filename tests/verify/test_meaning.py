"""What a norm is meant to compute: the analysis, less what it says is itself the mistake."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from normlint import rules
from normlint.verify.job import FLOOR_OF_ROOT, FLOOR_OF_SQUARE, OUTSIDE, Meaning
from normlint.verify.program.meaning import meaning, open_question

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def norm_class(body: str, init: str = "torch.ones(dim)", name: str = "RMSNorm", also: str = "") -> str:
    """A class with a weight and an eps, whose forward is `body`."""
    head = f"class {name}(nn.Module):\n    def __init__(self, dim, eps=1e-6{also}):\n        super().__init__()\n"
    made = f"        self.eps = eps\n        self.dim = dim\n        self.weight = nn.Parameter({init})\n"
    return HEAD + head + made + "    def forward(self, x):\n" + textwrap.indent(textwrap.dedent(body), " " * 8)


def function(body: str, given: str = "x, weight, eps=1e-6", name: str = "rms_norm") -> str:
    return HEAD + f"def {name}({given}):\n    return {body}\n"


def meant(text: str) -> Meaning:
    return meaning(rules.analyse(text).norms[0], text)


PLAIN = "return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps).type_as(x) * self.weight"
MS = "x.pow(2).mean(-1, keepdim=True)"
OVER = "x * torch.rsqrt(x.pow(2).mean({}, keepdim=True) + eps) * weight"

MEANT: dict[str, tuple[str, dict[str, Any]]] = {
    "a module's norm over the last axis": (
        norm_class(PLAIN),
        {"kind": "rms", "axes": (-1,), "gain": "weight", "offset": 0.0, "eps": None, "lenient": False, "halves": True},
    ),
    "a gain of one element, which lies along no axis": (
        norm_class(
            "return x * torch.rsqrt(x.float().pow(2).mean((1, 2, 3), keepdim=True)).type_as(x) * self.weight",
            "torch.ones(1)",
        ),
        {"axes": (1, 2, 3)},
    ),
    "another axis for each rank": (
        HEAD
        + "class LayerNorm(nn.Module):\n    def forward(self, x):\n        shape = x.shape\n"
        + "        if x.dim() == 3:\n            x = x.view(-1, x.size(-1))\n"
        + "        x = (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)\n        return x.view(shape)\n",
        {"axes": (-1,), "elsewhere": ()},
    ),
    "a gain with an offset": (
        norm_class(PLAIN.replace("self.weight", "(1 + self.weight)"), "torch.zeros(dim)"),
        {"offset": 1.0},
    ),
    "a gain that is never applied": (norm_class(PLAIN.replace(" * self.weight", "")), {"gain": "weight"}),
    "a method beside forward, whose gain forward applies": (
        norm_class("return self._norm(x) * self.weight").replace(
            "    def forward",
            f"    def inverse(self, x):\n        return torch.rsqrt({MS} + self.eps)\n\n    def forward",
        )
        + f"\n\n    def _norm(self, x):\n        return x * torch.rsqrt({MS} + self.eps)\n",
        {"gain": ""},
    ),
    "a gain that is no parameter": (
        norm_class(PLAIN).replace("nn.Parameter(torch.ones(dim))", "torch.ones(dim)"),
        {"gain": "weight"},
    ),
    "a gain that starts at zero on purpose": (
        norm_class(PLAIN, "torch.zeros(dim) if zero_init else torch.ones(dim)", also=", zero_init=True"),
        {"zero_gain": True},
    ),
    "a gain that other code fills": (
        norm_class(PLAIN, "torch.empty(dim)") + "\ndef _init_weights(module):\n    module.weight.data.fill_(1.0)\n",
        {"filled_later": True},
    ),
    "a function's parameters": (
        function(OVER.format(-1) + " + bias", "x, weight, bias, eps=1e-6"),
        {"gain": "weight", "shift": "bias"},
    ),
    "an eps that the text fixes": (function(f"x * torch.rsqrt({MS} + 1e-5)", "x"), {"eps": 1e-5, "gain": ""}),
    "all axes are the mistake": (function("x * torch.rsqrt(x.pow(2).mean() + eps) * weight"), {"axes": (-1,)}),
    "the token axis is the mistake where the gain lies along the last": (function(OVER.format(-2)), {"axes": (-1,)}),
    "the second axis is the last of two where the gain lies along it": (
        function(OVER.format(1)),
        {"axes": (-1,), "rank": 2},
    ),
    "channels first, as the gain says": (
        norm_class("return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + self.eps) * self.weight[:, None, None]"),
        {"axes": (1,), "rank": None},
    ),
    "channels first, with a gain of four axes": (
        norm_class(
            "return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + self.eps) * self.weight", "torch.ones(dim, 1, 1)"
        ),
        {"axes": (1,), "rank": 4},
    ),
    "before a permutation": (
        norm_class(
            """
            y = x.permute(0, 2, 3, 1)
            y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
            return y.permute(0, 3, 1, 2)
            """
        ),
        {"axes": (1,)},
    ),
    "before a moved axis": (
        norm_class(
            """
            y = x.movedim(1, -1)
            y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
            return y.movedim(-1, 1)
            """
        ),
        {"axes": (1,)},
    ),
    "a gain with a start of its own": (norm_class(PLAIN, "0.1 * torch.ones(dim)"), {"filled_later": True}),
    "an output that is fp32 by its name": (
        function(f"x.float() * torch.rsqrt({MS}.float() + eps)", "x, eps=1e-6", "rms_norm_fp32"),
        {"halves": False},
    ),
    "normalize's default axis is the mistake beside a gain": (
        norm_class("return F.normalize(x) * self.dim ** 0.5 * self.weight"),
        {"axes": (-1,)},
    ),
    "normalize's default axis in an L2 norm": (
        function("F.normalize(x)", "x", "l2_normalize"),
        {"axes": (1,), "kind": "l2"},
    ),
    "a floor of the mean square": (
        function(f"x * {MS}.clamp(min=eps).rsqrt()", "x, eps=1e-6"),
        {"form": FLOOR_OF_SQUARE},
    ),
    "a floor of the root": (function(f"x / {MS}.sqrt().clamp(min=eps)", "x, eps=1e-6"), {"form": FLOOR_OF_ROOT}),
    "eps beside a root is the mistake": (function(f"x / ({MS}.sqrt() + eps)", "x, eps=1e-6"), {"form": "added"}),
    "eps beside torch's norm": (
        function("x / (x.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5 + eps) * weight"),
        {"form": OUTSIDE, "lenient": True, "of_sum": False},
    ),
    "normalize and a count": (
        norm_class("return F.normalize(x, dim=-1) * self.dim ** 0.5 * self.weight"),
        {"kind": "rms", "form": FLOOR_OF_ROOT, "eps": 1e-12, "of_sum": True, "lenient": True},
    ),
    "a sum that is divided under the root": (
        function("x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) / x.shape[-1] + eps) * weight"),
        {"kind": "rms", "of_sum": False},
    ),
    "a gain that divides": (norm_class(PLAIN.replace("* self.weight", "/ self.weight")), {"gain": "weight"}),
    "axes of which a rule says that they are the mistake": (
        function(OVER.format("(-2, -1)")),
        {"axes": (-1,), "gain": "weight"},
    ),
    "an L2 norm's gain starts where its model wants it": (
        norm_class("return x / x.norm(dim=-1, keepdim=True) * self.weight", "torch.empty(dim)", "L2Norm"),
        {"kind": "l2", "filled_later": True},
    ),
    "a function whose callers may cast": (
        function(f"x * torch.rsqrt({MS} + eps)", "x, eps=1e-6", "_normed"),
        {"halves": False},
    ),
    "a function whose callers have cast": (
        function(f"x * torch.rsqrt({MS} + eps)", "x, eps=1e-6", "_rms_unit")
        + "\n\ndef measure(states):\n    units = _rms_unit(states.float())\n    return units.amax()\n",
        {"halves": False},
    ),
}


@pytest.mark.parametrize(("text", "expected"), MEANT.values(), ids=MEANT.keys())
def test_what_is_meant(text: str, expected: dict[str, Any]) -> None:
    found = meant(text)
    assert {name: getattr(found, name) for name in expected} == expected


OPEN = {
    "on one side only": norm_class(
        "return x * torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + self.eps) * self.weight", name="SimpleNorm"
    ),
    "unbiased": norm_class(
        "mean, var = x.mean(1, keepdim=True), x.var(1, keepdim=True)\n"
        "return (x - mean) / (var + self.eps).sqrt() * self.weight",
        "torch.ones(1, 1, dim)",
        "Scaled",
    ),
    "made of its length": function(
        "torch.tanh(c.sqrt() * length) * x / (c.sqrt() * length)", "x, c", "to_ball"
    ).replace("    return", "    length = x.norm(dim=-1, keepdim=True).clamp(min=1e-8)\n    return"),
    "of different axes": norm_class(
        "x = x - x.mean(dim=0, keepdim=True)\nreturn self.scale * x / (self.eps + x.norm(2, -1, keepdim=True))",
        "torch.ones(dim)); self.scale = (scale",
        "PairNorm",
        ", scale=1.0",
    ),
    "a view of the input is reduced": function(
        "x * (d / ((x * x).view(x.shape[0], 1, -1).sum(-1, keepdim=True) + 1e-5)).sqrt()", "x, d=32", "instance_l2_norm"
    ),
    "this clips": norm_class(
        "rms = (x.float().pow(2).mean(-1, keepdim=True) + self.eps).sqrt()\n"
        "factor = torch.where(rms > 1.0, 1.0 / rms.clamp(min=self.eps), torch.ones_like(rms))\n"
        "return (x * factor).to(x.dtype) * self.weight"
    ),
    "has a floor as well": norm_class(
        "var = x.float().pow(2).mean(-1, keepdim=True).clamp(min=self.eps)\n"
        "return (x * torch.rsqrt(var + self.eps)).to(x.dtype) * self.weight"
    ),
    "clips": function("x * (most / x.norm(dim=-1, keepdim=True).clamp(min=most))", "x, most=1.0", "l2_limit"),
    "a norm: this": function(
        "x * (most / x.pow(2).mean(-1, keepdim=True).sqrt().clamp(min=most))", "x, most", "rms_threshold"
    ),
    "scales what a layer holds": HEAD
    + """
def scaled(layer):
    layer = nn.Linear(4, 4)
    return layer.weight / layer.weight.norm(dim=1, keepdim=True)
""",
    "value of a flag": norm_class(
        "if self.centre:\n    x = x - x.mean(-1, keepdim=True)\n"
        "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight",
        name="LayerNorm",
    )
    .replace("self.eps = eps", "self.eps, self.centre = eps, bool(centre)")
    .replace("eps=1e-6)", "eps=1e-6, centre=0)"),
    "whole samples": norm_class(
        "return x * torch.rsqrt(x.pow(2).mean((-3, -2, -1), keepdim=True) + self.eps) * self.weight",
        name="BlockRMSNorm",
    ),
    "goes elsewhere": HEAD
    + """
class PairLayerNorm(nn.Module):
    def __init__(self, size, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.norm = nn.LayerNorm(size)

    def forward(self, features, vectors):
        lengths = vectors.norm(dim=(-1, -2), keepdim=True)
        return self.norm(features), vectors / (lengths + self.eps)
""",
    "it is squared": norm_class(PLAIN.replace("self.weight", "self.weight ** 2")),
    "learned": norm_class(PLAIN).replace("self.eps = eps", "self.eps = nn.Parameter(torch.tensor(eps))"),
}


@pytest.mark.parametrize(("word", "text"), OPEN.items(), ids=OPEN.keys())
def test_what_the_text_leaves_open_is_said(word: str, text: str) -> None:
    assert word in open_question(rules.analyse(text).norms[0], text)


def test_a_plain_norm_leaves_nothing_open() -> None:
    assert open_question(rules.analyse(norm_class(PLAIN)).norms[0], norm_class(PLAIN)) == ""
