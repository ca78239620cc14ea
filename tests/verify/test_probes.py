"""Mistakes that are hard to see: each is wrong or imprecise when it is run, and its sound neighbour matches."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG
from tests.verify.judging import judge_text

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
CLASS = """
class {name}(nn.Module):
    def __init__(self, dim, eps=1e-6, p=0.1):
        super().__init__()
        self.dim, self.eps, self.p = dim, eps, p
        self.weight = nn.Parameter(torch.ones(dim))
        {more}

    def forward(self, x):
        h = x.float()
        {lines}
"""
MS = "h.pow(2).mean(-1, keepdim=True)"
END = f"return (h * torch.rsqrt({MS} + self.eps)).to(x.dtype) * self.weight"
LAYER = "h = h - h.mean(-1, keepdim=True)\n        return (h * torch.rsqrt(" + MS + " + self.eps)).to(x.dtype)"
SAVED = """
class Saved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        h = x.float()
        r = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, {kept})
        return (h * r * weight.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        x, weight, r = ctx.saved_tensors
        h, r, g = x.float(), r.float(), grad.float() * weight.float()
        y = h * r
        dx = r * (g - y * (g * y).mean(-1, keepdim=True))
        dw = (grad.float() * y).reshape(-1, x.shape[-1]).sum(0)
        return dx.to(x.dtype), dw.to(weight.dtype), None
"""


def cls(lines: str = END, more: str = "pass", name: str = "RMSNorm") -> str:
    more = "self.bias = nn.Parameter(torch.zeros(dim))" if "self.bias" in lines else more
    return HEAD + CLASS.format(lines=lines, more=more, name=name)


def over(ms: str) -> str:
    return END.replace(MS, ms)


def plain(more: str) -> str:
    """With another gain."""
    return cls(more=more).replace("        self.weight = nn.Parameter(torch.ones(dim))\n", "")


HEADS = plain("self.weight = nn.Parameter(torch.ones(many, 1, dim))").replace("self, dim,", "self, many, dim,")
SOUND = {
    "a gain for each of several heads": HEADS,
    "a root mean square": cls(),
    "dropout that stops": cls(END.replace("return", "y =") + "\n        return F.dropout(y, self.p, self.training)"),
    "1 + w in fp32": cls(
        f"return (h * torch.rsqrt({MS} + self.eps) * (1.0 + self.weight.float())).to(x.dtype)"
    ).replace("torch.ones(dim)", "torch.zeros(dim)"),
    "a statistic that is saved in fp32": HEAD + SAVED.format(kept="r"),
    "torch's own": cls("return F.layer_norm(x, (self.dim,), self.weight, self.bias, self.eps)", name="LayerNorm"),
    "a gain that is a buffer": plain("self.register_buffer('weight', torch.ones(dim))"),
    "a shift that is a buffer": cls(
        LAYER + " * self.weight + self.beta", "self.register_buffer('beta', torch.zeros(dim))", "LayerNorm"),
}  # fmt: skip
MISTAKES = {
    "a gain before the norm": cls("h = h * self.weight.float()\n        " + END.replace(" * self.weight", "")),
    "the tokens reduced": cls("b, l, d = x.shape\n        " + over("h.pow(2).mean(1, keepdim=True)")),
    "the tokens reduced, without a gain": cls(
        "b, l, d = x.shape\n        " + over("h.pow(2).mean(1, keepdim=True)").replace(" * self.weight", "")),
    "dropout that never stops": cls(END.replace("return", "y =") + "\n        return F.dropout(y, self.p)"),
    "noise": cls(END.replace("return", "y =") + "\n        return y + torch.randn_like(y) * 1e-3"),
    "noise outside of training": cls(
        END.replace("return", "y =") + "\n        return y if self.training else y + torch.randn_like(y) * 1e-3"),
    "a clamped input": cls("h = h.clamp(-100, 100)\n        " + END),
    "a clamped input, far out": cls("h = h.clamp(-1e4, 1e4)\n        " + END),
    "a clamped output": cls(END.replace("return", "y =") + "\n        return y.clamp(-3, 3)"),
    "a clamped statistic": cls(over(MS + ".clamp(max=100.0)")),
    "running statistics": cls(
        f"ms = {MS}\n        if self.training:\n            self.seen.mul_(0.9).add_(ms.mean().detach() * 0.1)\n"
        "        else:\n            ms = self.seen\n        " + over("ms"),
        "self.register_buffer('seen', torch.ones(1))"),
    "the mean of |x|": cls(over("h.abs().mean(-1, keepdim=True) ** 2")),
    "eps added to the input": cls("h = h + self.eps\n        " + END.replace(" + self.eps", "")),
    "1 + w rounded in half": cls(END.replace("self.weight", "(1 + self.weight)")).replace(
        "torch.ones(dim)", "torch.zeros(dim)"),
    "no eps": cls(END.replace(" + self.eps", "")),
    "a NaN gradient at zero": cls(f"return (h / (torch.sqrt({MS}) + self.eps)).to(x.dtype) * self.weight"),
    "a gain that is made in half": plain("self.weight = nn.Parameter(torch.ones(dim, dtype=torch.float16))"),
    "a statistic that is saved in half": HEAD + SAVED.format(kept="r.to(x.dtype)"),
    "swapped arguments": cls("return F.layer_norm(x, (self.dim,), self.bias, self.weight, self.eps)", name="LayerNorm"),
    "a missing gain": cls("return F.rms_norm(x, (self.dim,), None, self.eps)"),
    "a missing eps": cls("return F.rms_norm(x, (self.dim,), self.weight)"),
    "the sum in place of the mean": cls(over("h.pow(2).sum(-1, keepdim=True)")),
    "an unbiased variance": cls(
        "return ((h - h.mean(-1, True)) / torch.sqrt(h.var(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight",
        name="LayerNorm"),
    "a detached gain": cls(END.replace("self.weight", "self.weight.detach()")),
    "a detached statistic": cls(over(MS + ".detach()")),
    "a single sample that is left as it is": cls("if x.shape[0] == 1:\n            return x\n        " + END),
    "the samples together where each has one token": cls(
        "every = None if x.shape[-2] == 1 else -1\n        " + over("h.pow(2).mean(every, keepdim=True)")),
    "an eps in training alone": cls(
        "eps = self.eps if self.training else 0\n        " + END.replace("self.eps", "eps")),
    "a gain for each of several heads, and a sum in place of the mean": HEADS.replace("mean(", "sum("),
}  # fmt: skip


def forward(text: str) -> str:
    return f"{text.rpartition('class ')[2].partition('(')[0]}.forward"


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_matches(text: str) -> None:
    verdict = judge_text(text, forward(text))
    assert verdict.status == MATCH, verdict.reason


@pytest.mark.parametrize("text", MISTAKES.values(), ids=MISTAKES)
def test_is_seen(text: str) -> None:
    verdict = judge_text(text, forward(text))
    assert verdict.status in (WRONG, PRECISION), verdict.reason


ASTRAY = END.replace("self.weight", "self.weight[:, None]")
TOLD = {
    "nothing says which axis the features lie on": (cls(ASTRAY), SKIPPED),
    "a gain for each head, and the axes are told": (
        cls("b, l, heads, d = x.shape\n        " + END.replace("self.weight", "self.gain"),
            "self.gain = nn.Parameter(torch.ones(heads, 1))").replace("self, dim,", "self, heads, dim,"), SKIPPED),
    "a gain for each channel, whose axis is reduced": (
        cls(ASTRAY.replace(MS, "h.pow(2).mean(-2, keepdim=True)")), MATCH),
    "the count of the sum says that they lie last": (
        cls(over("h.pow(2).sum(-1, keepdim=True) / self.dim").replace("self.weight", "self.weight[:, None]")), WRONG),
    "a docstring says that they lie last": (
        cls(ASTRAY).replace("x):\n", 'x):\n        """x: (batch, tokens, dim)"""\n'), WRONG),
    "an assertion says that they lie last": (
        cls("b, l, d = x.shape\n        assert d == self.dim\n        " + ASTRAY), WRONG),
}  # fmt: skip


@pytest.mark.parametrize(("text", "status"), TOLD.values(), ids=TOLD)
def test_a_gain_along_the_tokens_is_wrong_where_the_text_says_what_the_tokens_are(text: str, status: str) -> None:
    verdict = judge_text(text, forward(text))
    assert verdict.status == status, verdict.reason


READ_ON = {
    "a mean that is subtracted in place, by a method without its class": (
        """
def layer_norm(self, x):
    h = x.to(torch.float32, copy=True)
    h -= x.mean(-1, keepdim=True)
    variance = h.square().mean(-1, keepdim=True)
    variance += self.eps
    return (h * variance.rsqrt_() * self.weight).to(x.dtype)
""",
        "layer_norm",
    ),
    "swaps that count the axes from both ends": (
        """
class AdaLayerNorm(nn.Module):
    def __init__(self, style, channels, eps=1e-5):
        super().__init__()
        self.channels, self.eps, self.fc = channels, eps, nn.Linear(style, 2 * channels)

    def forward(self, x, s):
        x = x.transpose(-1, -2).transpose(1, -1)
        gamma, beta = self.fc(s).unsqueeze(1).chunk(2, dim=-1)
        x = (1 + gamma) * F.layer_norm(x, (self.channels,), eps=self.eps) + beta
        return x.transpose(1, -1).transpose(-1, -2)
""",
        "AdaLayerNorm.forward",
    ),
    "a compiler's options, which nobody knows": (
        """
from .settings import OPTIONS

@torch.compile(dynamic=True, options=OPTIONS)
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight
""",
        "rms_norm",
    ),
    "a function that takes no gradient of its weights": (
        """
def layer_norm(x, weight, bias):
    return F.layer_norm(x, (x.shape[-1],), weight=weight.data, bias=bias.data)
""",
        "layer_norm",
    ),
    "the words of a base about itself": (
        """
class LayerNorm(nn.LayerNorm):
    __doc__ = nn.LayerNorm.__doc__

    def forward(self, x):
        return F.layer_norm(x.float(), self.normalized_shape, self.weight, self.bias, self.eps).type_as(x)
""",
        "LayerNorm.forward",
    ),
}


@pytest.mark.parametrize(("text", "qualname"), READ_ON.values(), ids=READ_ON)
def test_is_run_all_the_same(text: str, qualname: str) -> None:
    verdict = judge_text(HEAD + text, qualname)
    assert verdict.status in (MATCH, PRECISION), verdict.reason
