"""Layer norms and L2 norms in odd layouts, each with a defect of its own."""

from __future__ import annotations

from tests.layouts import Layout

LAYER = "layer_norm(x, w)"
INIT = "$INIT        self.bias = nn.Parameter(torch.zeros(dim))\n"


def layer(body: str, **more: object) -> Layout:
    """A function with these lines."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return Layout(f"\ndef layer_norm(x, w, b=0.0, eps=1e-5):\n{lines}", LAYER, meant="layer", **more)  # type: ignore[arg-type]


def module(body: str, norm: str = "LayerNorm(D)(x)", more: str = "", **others: object) -> Layout:
    """A module whose forward has these lines."""
    lines = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    text = f"\nclass LayerNorm(nn.Module):\n{INIT}\n    def forward(self, x):\n{lines}{more}"
    return Layout(text, norm, meant="layer+", **others)  # type: ignore[arg-type]


END = "return (y * self.weight + self.bias).type_as(x)"
LAYOUTS: dict[str, Layout] = {
    "one pass, x.mul(x)": layer("""
h = x.float()
m = h.mean(-1, keepdim=True)
v = h.mul(h).mean(-1, keepdim=True) - m.mul(m)
return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "one pass, x * x": layer("""
h = x.float()
m = h.mean(-1, keepdim=True)
v = (h * h).mean(-1, keepdim=True) - m * m
return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "one pass, sums and .div(d)": layer("""
h = x.float()
d = h.shape[-1]
m = h.sum(-1, keepdim=True).div(d)
v = h.pow(2).sum(-1, keepdim=True).div(d) - m.pow(2)
return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "one pass, sums and / d": layer("""
h = x.float()
d = h.size(-1)
s, q = h.sum(-1, keepdim=True), (h ** 2).sum(-1, keepdim=True)
m = s / d
v = q / d - m ** 2
return ((h - m) / torch.sqrt(v + eps)).type_as(x) * w + b"""),
    "one pass, the squares of a name": layer("""
h = x.float()
sq = h.square()
m, ms = h.mean(-1, keepdim=True), sq.mean(-1, keepdim=True)
return ((h - m) / (ms - m.square() + eps).sqrt()).type_as(x) * w + b"""),
    "one pass, clamped": layer("""
h = x.float()
m = h.mean(-1, keepdim=True)
v = (h.pow(2).mean(-1, keepdim=True) - m.pow(2)).clamp(min=0)
return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "one pass, subtracted by torch.sub": layer("""
h = x.float()
m = torch.mean(h, -1, True)
v = torch.sub(torch.mean(torch.square(h), -1, True), torch.square(m))
return (torch.sub(h, m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "one pass, torch.addcmul": layer("""
h = x.float()
m = h.mean(-1, keepdim=True)
v = torch.addcmul(h.pow(2).mean(-1, keepdim=True), m, m, value=-1)
return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "one pass, on one line": layer(
        "h = x.float(); m = h.mean(-1, keepdim=True); v = h.pow(2).mean(-1, keepdim=True) - m ** 2; "
        "return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"
    ),
    "one pass, whose mean square another name keeps": module(
        """
h = x.float()
m = h.mean(-1, keepdim=True)
self.power = ms = h.pow(2).mean(-1, keepdim=True)
y = (h - m) * torch.rsqrt(ms - m.pow(2) + self.eps)
"""
        + END,
        others=("(lambda m: (m(x), m.power)[1])(LayerNorm(D))",),
    ),
    "one pass in a helper that a metric calls": Layout(
        """
def moments(h):
    m = h.mean(-1, keepdim=True)
    return m, h.pow(2).mean(-1, keepdim=True)


def layer_norm(x, w, eps=1e-5):
    h = x.float()
    m, ms = moments(h)
    return ((h - m) * torch.rsqrt(ms - m.pow(2) + eps)).type_as(x) * w


def spread(x):
    m, ms = moments(x)
    return ms, m
""",
        LAYER,
        ("spread(x)[0]", "spread(x)[1]"),
        meant="layer",
    ),
    "an unbiased variance": layer("""
h = x.float()
m, v = h.mean(-1, keepdim=True), h.var(-1, keepdim=True)
return ((h - m) / (v + eps).sqrt()).type_as(x) * w + b"""),
    "an unbiased deviation with eps outside": layer("""
h = x.float()
return ((h - h.mean(-1, keepdim=True)) / (h.std(-1, keepdim=True) + eps)).type_as(x) * w + b"""),
    "var_mean, unbiased": layer("""
h = x.float()
v, m = torch.var_mean(h, dim=-1, keepdim=True)
return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "an unbiased variance that a metric shares": Layout(
        """
def stats(h):
    return h.mean(-1, keepdim=True), h.var(-1, keepdim=True)


def layer_norm(x, w, eps=1e-5):
    h = x.float()
    m, v = stats(h)
    return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w


def report(x):
    return stats(x)[1]
""",
        LAYER,
        ("report(x)",),
        meant="layer",
    ),
    "an unbiased variance that is given back as well": Layout(
        """
def layer_norm(x, w, eps=1e-5):
    h = x.float()
    m, v = h.mean(-1, keepdim=True), h.var(-1, keepdim=True)
    return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w, v
""",
        "layer_norm(x, w)[0]",
        meant="layer",
    ),
    "no centre in the product": layer("""
h = x.float()
m = h.mean(-1, keepdim=True)
v = (h - m).pow(2).mean(-1, keepdim=True)
return (h * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "no centre under the square, x.mul(x)": layer("""
h = x.float()
m = h.mean(-1, keepdim=True)
v = h.mul(h).mean(-1, keepdim=True)
return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "no centre under the square, x * x": layer("""
h = x.float()
m = h.mean(-1, keepdim=True)
v = (h * h).mean(-1, keepdim=True)
return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "no centre under the square, torch.mul": layer("""
h = x.float()
m = h.mean(-1, keepdim=True)
v = torch.mul(h, h).mean(-1, keepdim=True)
return ((h - m) * torch.rsqrt(v + eps)).type_as(x) * w + b"""),
    "no upcast, in lambdas": Layout(
        """
centre = lambda t: t - t.mean(-1, keepdim=True)
spread = lambda t: (centre(t) ** 2).mean(-1, keepdim=True)
layer_norm = lambda x, w, eps=1e-5: centre(x) / (spread(x) + eps) ** 0.5 * w
""",
        LAYER,
        ("centre(x)",),
        meant="layer",
    ),
    "no upcast, in a helper that centres for others": Layout(
        """
def centred(x):
    return x - x.mean(-1, keepdim=True)


def layer_norm(x, w, eps=1e-5):
    c = centred(x)
    return c * torch.rsqrt(c.pow(2).mean(-1, keepdim=True) + eps) * w


def whiten(x):
    return centred(x)
""",
        LAYER,
        ("whiten(x)",),
        meant="layer",
    ),
    "changed in place": module("""
h = x.float()
h -= h.mean(-1, keepdim=True)
h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h * self.weight + self.bias).type_as(x)"""),
    "changed in place, in a chain": module("""
h = x
h.sub_(h.mean(-1, keepdim=True)).div_((h.pow(2).mean(-1, keepdim=True) + self.eps).sqrt())
return h * self.weight + self.bias"""),
    "changed in place by sub_ in a chained assignment": module("""
h = y = x.float()
y = h - h.mean(-1, keepdim=True)
h.sub_(h.mean(-1, keepdim=True))
v = h.pow(2).mean(-1, keepdim=True)
return (y * torch.rsqrt(v + self.eps) * self.weight + self.bias).type_as(x)"""),
    "the square of the deviation and one root too few": layer("""
h = x.float()
m = h.mean(-1, keepdim=True)
return ((h - m) / (h.var(-1, keepdim=True, unbiased=False) + eps)).type_as(x) * w + b"""),
    "multiplied by the deviation": layer("""
h = x.float()
m, s = h.mean(-1, keepdim=True), h.std(-1, keepdim=True, unbiased=False)
return ((h - m) * (s + eps)).type_as(x) * w + b"""),
    "einops for the mean": Layout(
        """
import torch
from torch import nn
from einops import reduce


def layer_norm(x, w, eps=1e-5):
    m = reduce(x, "b l d -> b l 1", "mean")
    v = reduce((x - m) ** 2, "b l d -> b l 1", "mean")
    return (x - m) * torch.rsqrt(v + eps) * w
""",
        LAYER,
        meant="layer",
    ),
    "the sum of squares by einsum, never divided": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = x.float()
    s = torch.einsum("bld,bld->bl", h, h).unsqueeze(-1)
    return (h * torch.rsqrt(s + eps)).type_as(x) * w
""",
        "rms_norm(x, w)",
    ),
    "√D twice": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (F.normalize(h, dim=-1) * self.scale * h.shape[-1] ** 0.5).type_as(x) * self.weight
""",
        meant="rms0",
    ),
    "√D the wrong way round": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** -0.5
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (F.normalize(h, dim=-1) * self.scale).type_as(x) * self.weight
""",
        meant="rms0",
    ),
    "√D the wrong way round in a scale that attention shares": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** -0.5
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (F.normalize(h, dim=-1) * self.scale).type_as(x) * self.weight

    def logits(self, q, k):
        return q * k * self.scale
""",
        others=("RMSNorm(D).logits(x, x)",),
        meant="rms0",
    ),
    "the default dim of F.normalize": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x.float()).type_as(x) * self.scale * self.weight
""",
        meant="rms0",
    ),
    "a gain that is no parameter": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, torch.ones(dim)

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
"""
    ),
    "a gain of one more whose weight starts at one": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * (1 + self.weight)).type_as(x)
"""
    ),
    "a print in the middle of a line": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = x.float(); print(h.shape); s = h.pow(2).mean(-1, keepdim=True)
    if eps: print("eps", eps)
    return (h * torch.rsqrt(s + eps)).type_as(x) * w
""",
        "rms_norm(x, w)",
    ),
    "a print that is a body": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = x.float()
    if h.ndim > 9:
        print(h.shape)  # why
    else:
        print("small"); print("eps", eps)
    for _ in range(1): print(".", end="")
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * w
""",
        "rms_norm(x, w)",
    ),
    "an eps of the constructor that is never used": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, dim: int, *, eps: float = 1e-6, **unused) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight
"""
    ),
    "a function without eps that others call": Layout(
        """
def rms(x):
    return x.float().pow(2).mean(-1, keepdim=True).sqrt()


def rms_norm(x, w):
    return (x.float() / rms(x)).type_as(x) * w


def decibels(x):
    return 20 * torch.log10(rms(x))
""",
        "rms_norm(x, w)",
        ("decibels(x)", "rms(x)"),
    ),
    "eps after a root that others read": Layout(
        """
def rms(x, eps=1e-6):
    return x.float().pow(2).mean(-1, keepdim=True).sqrt() + eps


def rms_norm(x, w):
    return (x.float() / rms(x)).type_as(x) * w


def decibels(x):
    return 20 * torch.log10(rms(x, 0.0))
""",
        "rms_norm(x, w)",
        ("decibels(x)", "rms(x)"),
    ),
}
