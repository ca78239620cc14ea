"""Norms whose formula is wrong: those that must stay as they are, and the others with what they become."""

from __future__ import annotations


def norm(body: str, name: str = "RMSNorm", init: str = "ones", more: str = "") -> str:
    """A module whose forward has these lines."""
    lines = "".join(f"        {line}\n" if line else "\n" for line in body.strip("\n").split("\n"))
    return (
        f"import torch\nfrom torch import nn\n\n\nclass {name}(nn.Module):\n    def __init__(self, dim, eps=1e-6):\n"
        f"        super().__init__()\n        self.eps = eps\n        self.weight = nn.Parameter(torch.{init}(dim))\n\n"
        f"{more}    def forward(self, x):\n        h = x.float()\n{lines}"
    )


SHARED = """import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))


class PlainRMSNorm(Base):
    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


class OffsetRMSNorm(Base):
    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * (1 + self.weight)
"""
DECORATED = """    @torch.no_grad()
    def scale(self, h):
        {line}return torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)

"""
UNCHANGED = {
    "under no_grad a buffer is written as well": norm("""
with torch.no_grad():
    self.seen += 1
    ms = h.pow(2).mean(-1, keepdim=True)
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight"""),
    "a helper without gradient writes a buffer": norm(
        "return (h * self.scale(h)).type_as(x) * self.weight",
        more=DECORATED.format(line="self.seen.add_(1)\n        "),
    ),
    "the weight of ones belongs to another norm, too": SHARED,
    "an RMS norm with a bias may be a layer norm after all": norm("""
var = h.var(-1, keepdim=True, unbiased=False)
return (h * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias"""),
}
CASES = {
    "NRM401 a product with an inverse root for a division by it": norm("""
return (h / torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight  # one scale per row
---
return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight  # one scale per row"""),
    "NRM401 what is called rms is the root": norm("""
rms = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h / rms).type_as(x) * self.weight
---
rms = torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h / rms).type_as(x) * self.weight"""),
    "NRM401 what is given back as well stays what it is": norm("""
rms = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h / rms).type_as(x) * self.weight, rms
---
rms = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h * rms).type_as(x) * self.weight, rms"""),
    "NRM401 a division by sigma for a product with it": norm("""
sigma = (h.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
return (h * sigma * self.weight).type_as(x)
---
sigma = (h.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
return (h / sigma * self.weight).type_as(x)"""),
    "NRM401 a scale is the inverse root": norm("""
scale = (h.pow(2).mean(-1, keepdim=True) + self.eps) ** 0.5
return (scale * h).type_as(x) * self.weight
---
scale = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (scale * h).type_as(x) * self.weight"""),
    "NRM401 one over an inverse root is the inverse root": norm("""
inv = 1.0 / torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h * inv).type_as(x) * self.weight
---
inv = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h * inv).type_as(x) * self.weight"""),
    "NRM401 rms is no inverse": norm("""
rms = 1 / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h / rms).type_as(x) * self.weight
---
rms = torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h / rms).type_as(x) * self.weight"""),
    "NRM401 on both branches": norm("""
ms = h.pow(2).mean(-1, keepdim=True) + self.eps
if self.training:
    out = h * ms.sqrt()
else:
    out = h * ms.sqrt()
return out.type_as(x) * self.weight
---
ms = h.pow(2).mean(-1, keepdim=True) + self.eps
if self.training:
    out = h * torch.rsqrt(ms)
else:
    out = h * torch.rsqrt(ms)
return out.type_as(x) * self.weight"""),
    "NRM402 a root around the sum, in its parentheses": norm("""
return (h / (h.pow(2).mean(-1, keepdim=True)
             + self.eps)).type_as(x) * self.weight
---
return (h / torch.sqrt(h.pow(2).mean(-1, keepdim=True)
             + self.eps)).type_as(x) * self.weight"""),
    "NRM402 by a function, also where roots are methods": norm("""
total = h.abs().sqrt().sum()
ms = h.pow(2).mean(-1, keepdim=True) + self.eps
return (h / ms).type_as(x) * self.weight + 0 * total
---
total = h.abs().sqrt().sum()
ms = h.pow(2).mean(-1, keepdim=True) + self.eps
return (h / torch.sqrt(ms)).type_as(x) * self.weight + 0 * total"""),
    "NRM402 a power of two becomes a root": norm("""
return (h / (h.pow(2).mean(-1, keepdim=True) + self.eps) ** 2).type_as(x) * self.weight
---
return (h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight"""),
    "NRM403 squares by a method": norm("""
energy = (h ** 2).sum()
ms = torch.mean(h, dim=-1, keepdim=True)
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
---
energy = (h ** 2).sum()
ms = torch.mean(h.pow(2), dim=-1, keepdim=True)
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight"""),
    "NRM403 squares for absolute values": norm("""
ms = torch.abs(h).mean(-1, keepdim=True)
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
---
ms = h.pow(2).mean(-1, keepdim=True)
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight"""),
    "NRM404 by the name of what is centred": norm(
        """
c = h - h.mean(-1, keepdim=True)
var = (c * c).mean(-1, keepdim=True)
return (h * torch.rsqrt(var + self.eps)).type_as(x) * self.weight
---
c = h - h.mean(-1, keepdim=True)
var = (c * c).mean(-1, keepdim=True)
return (c * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
        "LayerNorm",
    ),
    "NRM404 both factors of the square": norm(
        """
mean = h.mean(-1, keepdim=True)
var = (h * h).mean(-1, keepdim=True)
return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight
---
mean = h.mean(-1, keepdim=True)
var = h.var(-1, unbiased=False, keepdim=True)
return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
        "LayerNorm",
    ),
    "NRM404 a mean over the axis of the variance": norm(
        """
var = torch.var(h, dim=-1, correction=0)[..., None]
return (h * torch.rsqrt(var + self.eps)).type_as(x) * self.weight
---
var = torch.var(h, dim=-1, correction=0)[..., None]
return ((h - h.mean(-1, keepdim=True)) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
        "LayerNorm",
    ),
    "NRM402 a product with the mean square, without any root": norm(
        """
return (h * h.pow(2).mean(-1, keepdim=True)).type_as(x) * self.weight
---
return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True))).type_as(x) * self.weight"""
    ),
    "NRM401 what is called rms is divided by": norm(
        """
rms = 1 / torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h * rms).type_as(x) * self.weight
---
rms = 1 / torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
return (h / rms).type_as(x) * self.weight"""
    ),
    "NRM404 centred under the squares as well as behind them": norm(
        """
ms = h.pow(2).mean(-1, keepdim=True)
h = h - h.mean(-1, keepdim=True)  # centre
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
---
ms = h.var(-1, unbiased=False, keepdim=True)
h = h - h.mean(-1, keepdim=True)  # centre
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight""",
        "LayerNorm",
    ),
    "NRM404 a mean that is taken behind the squares": norm(
        """
ms = h.pow(2).mean(-1, keepdim=True)
mean = h.mean(-1, keepdim=True)  # of the row
return ((h - mean) * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
---
ms = h.var(-1, unbiased=False, keepdim=True)
mean = h.mean(-1, keepdim=True)  # of the row
return ((h - mean) * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight""",
        "LayerNorm",
    ),
    "NRM404 not by a mean over other axes, whatever else it is for": norm(
        """
c = h - h.mean((0, 1), keepdim=True)
var = h.var(-1, keepdim=True, unbiased=False)
return (h * torch.rsqrt(var + self.eps)).type_as(x) * self.weight
---
c = h - h.mean((0, 1), keepdim=True)
var = h.var(-1, keepdim=True, unbiased=False)
return ((h - h.mean(-1, keepdim=True)) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
        "LayerNorm",
    ),
    "NRM404 no mean in an RMS norm, and none left over": norm("""
mean = h.mean(-1, keepdim=True)
ms = (h - mean).pow(2).mean(-1, keepdim=True)
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
---
ms = h.pow(2).mean(-1, keepdim=True)
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight"""),
    "NRM405 every cut at once": norm("""
ms = (h.detach().pow(2).mean(-1, keepdim=True) + self.eps).data
return (h * torch.rsqrt(ms)).type_as(x) * self.weight
---
ms = h.pow(2).mean(-1, keepdim=True) + self.eps
return (h * torch.rsqrt(ms)).type_as(x) * self.weight"""),
    "NRM405 the mean on both sides": norm(
        """
v = (h - h.mean(-1, True).detach()).pow(2).mean(-1, True)
return ((h - h.mean(-1, True).detach()) * torch.rsqrt(v + self.eps)).type_as(x) * self.weight
---
v = (h - h.mean(-1, True)).pow(2).mean(-1, True)
return ((h - h.mean(-1, True)) * torch.rsqrt(v + self.eps)).type_as(x) * self.weight""",
        "LayerNorm",
    ),
    "NRM405 a block without gradients moves out": norm("""
with torch.no_grad():
    ms = h.pow(2).mean(-1, keepdim=True)
    # then eps

    r = torch.rsqrt(
        ms + self.eps
    )
return (h * r).type_as(x) * self.weight
---
ms = h.pow(2).mean(-1, keepdim=True)
# then eps

r = torch.rsqrt(
    ms + self.eps
)
return (h * r).type_as(x) * self.weight"""),
    "NRM405 the other context managers stay": norm("""
with torch.no_grad(), torch.autocast("cuda", enabled=False):
    ms = h.pow(2).mean(-1, keepdim=True)
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
---
with torch.autocast("cuda", enabled=False):
    ms = h.pow(2).mean(-1, keepdim=True)
return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight"""),
}
OFFSET = "return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * (1 + self.weight)"
PLAIN = OFFSET.replace("(1 + self.weight)", "self.weight")
TWO_GAINS = """import torch
from torch import nn


class QKNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Parameter(torch.{0}(dim))
        self.k = nn.Parameter(torch.{0}(dim))

    def _norm(self, x, g):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * (1 + g)

    def forward(self, q, k):
        return self._norm(q, self.q), self._norm(k, self.k)
"""
RESET = "    def reset_parameters(self):\n        nn.init.{0}_(self.weight)\n\n"
FIRST_VALUES = {
    "two gains behind one helper": (TWO_GAINS.format("ones"), TWO_GAINS.format("zeros")),
    "zeros under 1 +": (norm(OFFSET), norm(OFFSET, init="zeros")),
    "ones without": (norm(PLAIN, init="zeros"), norm(PLAIN)),
    "where it is made and where it is filled": (
        norm(OFFSET, more=RESET.format("ones")),
        norm(OFFSET, init="zeros", more=RESET.format("zeros")),
    ),
}
AFTER_ONE_ANOTHER = {
    "first the axes, then the mean over them": (
        """
m = h.mean((0, 1), keepdim=True)
c = h - m
var = h.var((0, 1), keepdim=True, unbiased=False)
return (h * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
        """
m = h.mean((0, 1), keepdim=True)
c = h - m
var = h.var(-1, keepdim=True, unbiased=False)
return ((h - h.mean(-1, keepdim=True)) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
    ),
    "first the centre, then the count of what is summed": (
        """
m = h.mean(-1, keepdim=True)
var = h.pow(2).sum(-1, keepdim=True) - m.pow(2)
return ((h - m) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
        """
m = h.mean(-1, keepdim=True)
var = h.var(-1, unbiased=False, keepdim=True)
return ((h - m) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
    ),
    "first the centre, then the mean that is divided once more": (
        """
m = h.mean(-1, keepdim=True)
var = h.pow(2).mean(-1, keepdim=True) / h.shape[-1] - m.pow(2)
return ((h - m) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
        """
m = h.mean(-1, keepdim=True)
var = h.var(-1, unbiased=False, keepdim=True)
return ((h - m) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight""",
    ),
}
