"""Broken: once missed."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "a layer norm of deviations without squares, whose root is taken twice": (
        ("NRM403",),
        """
class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        h = x.float()
        c = h - h.mean(-1, keepdim=True)
        spread = torch.sqrt(c.abs().mean(-1, keepdim=True) + self.eps)
        return (c * torch.rsqrt(spread)).type_as(x) * self.weight
""",
    ),
    "a buffer for eps and a reduction over everything": (
        ("NRM101",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.register_buffer('e', torch.tensor(1e-6))

    def forward(self, x):
        h = x.float()
        return (h / (h.pow(2).mean() + self.e).sqrt()).type_as(x) * self.weight
""",
    ),
    "a module in a function": (
        ("NRM101",),
        """
def build(dim):
    class RMSNorm(nn.Module):
        def __init__(self, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean() + self.eps)).type_as(x) * self.weight
    return RMSNorm()
""",
    ),
    "a reduction over everything by einops": (
        ("NRM101",),
        """
import torch
from torch import nn
from einops import reduce

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        ms = reduce(h ** 2, 'b l d -> 1 1 1', 'mean')
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    ),
    "a script in notebook style without an upcast": (
        ("NRM201",),
        """
dim = 64
weight = nn.Parameter(torch.ones(dim))

# %%
def rmsnorm(x):
    return x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + 1e-6) * weight

# %%
print(rmsnorm(torch.randn(2, 3, dim)).shape)
""",
    ),
    "a sum divided by the length of x": (
        ("NRM104",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) / len(x) + self.eps)).type_as(x) * self.weight
""",
    ),
    "eps from a dataclass default of 0.1": (
        ("NRM303",),
        """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Config:
    dim: int = 512
    norm_eps: float = 0.1

class RMSNorm(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.eps = config.norm_eps
        self.weight = nn.Parameter(torch.ones(config.dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "gains in a ParameterList, tokens reduced": (
        ("NRM103",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.ParameterList([nn.Parameter(torch.ones(dim))])

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-2, keepdim=True) + self.eps)).type_as(x) * self.g[0]
""",
    ),
    "one plus a weight of ones inside an addcmul": (
        ("NRM406",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        n = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
        return n + n * self.weight
""",
    ),
    "rms norm as a lambda assigned to a name": (
        ("NRM101",),
        """
rms_norm = lambda x, w, eps=1e-6: (x.float() * torch.rsqrt(x.float().pow(2).mean() + eps)).type_as(x) * w
""",
    ),
    "a layer norm of what isn't zero, without its root": (
        ("NRM402",),
        """
def layer_norm_of_nonzero(x, weight, dim=-1, eps=1e-5):
    h = x.float()
    there = h.ne(0)
    n = there.sum(dim, keepdim=True).clamp(min=1)
    c = torch.where(there, h - h.sum(dim, keepdim=True) / n, torch.zeros_like(h))
    var = c.pow(2).sum(dim, keepdim=True) / n
    return (c / (var + eps)).type_as(x) * weight
""",
    ),
    "a layer norm of what isn't zero, whose variance is a sum": (
        ("NRM104",),
        """
def layer_norm_of_nonzero(x, weight, eps=1e-5):
    h = x.float()
    n = (h != 0).sum(-1, keepdim=True).clamp(min=1)
    c = torch.where(h != 0, h - h.sum(-1, keepdim=True) / n, 0.0)
    return (c * torch.rsqrt(c.pow(2).sum(-1, keepdim=True) + eps)).type_as(x) * weight
""",
    ),
    "a one-pass variance that subtracts the mean, not its square": (
        ("NRM403",),
        """
def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float()
    mean = h.mean(-1, keepdim=True)
    var = h.pow(2).mean(-1, keepdim=True) - mean.abs()
    return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
""",
    ),
    "a one-pass variance of the values, not of their squares": (
        ("NRM403",),
        """
def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float()
    mean = h.mean(-1, keepdim=True)
    var = h.mean(-1, keepdim=True) - mean.pow(2)
    return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
""",
    ),
    "centred along the channels, over the spread of everything": (
        ("NRM101",),
        """
class Channels(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(1, dim, 1, 1))

    def forward(self, x):
        h = x.float()
        var = h.reshape(-1).var(unbiased=False)
        return ((h - h.mean(dim=1, keepdim=True)) * (var + self.eps).rsqrt()).type_as(x) * self.g
""",
    ),
    "a gain that is made under a flag and never applied": (
        ("NRM505",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5, affine=True):
        super().__init__()
        self.eps = eps
        self.affine = bool(affine)
        if self.affine:
            self.weight = nn.Parameter(torch.ones(dim))
            self.bias = nn.Parameter(torch.zeros(dim))
        else:
            self.weight, self.bias = None, None

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        y = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
        return y + self.bias if self.affine else y
""",
    ),
    "squares of a half, unless a gate in fp32 came before": (
        ("NRM201",),
        """
def rms_norm(x, weight, z=None, eps=1e-6, gate_first=True):
    dtype = x.dtype
    if z is not None and gate_first:
        x = x * F.silu(z.float())
    out = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight
    return out.to(dtype)
""",
    ),
    "a detached statistic in one of two formulas, beside a flag for the upcast": (
        ("NRM405",),
        """
def rms_norm(x, weight, eps=1e-6, group_size=None, upcast=True):
    dtype = x.dtype
    if upcast:
        x = x.float()
    if group_size is None:
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps).detach()
        out = x * r * weight
    else:
        g = x.unflatten(-1, (-1, group_size))
        r = torch.rsqrt(g.pow(2).mean(-1, keepdim=True) + eps)
        out = (g * r).flatten(-2) * weight
    return out.to(dtype)
""",
    ),
    "a print where a gain is applied that may be left out": (
        ("NRM503",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, affine=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim)) if affine else None

    def forward(self, x):
        h = x.float()
        h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
        if self.weight is not None:
            print(h.shape)
            h = h * self.weight
        return h
""",
    ),
    "a variance over all axes, beside a mean over the one of the gain": (
        ("NRM103",),
        """
class LayerNorm4d(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, dim, 1, 1))
        self.bias = nn.Parameter(torch.zeros(1, dim, 1, 1))
        self.eps = eps

    def forward(self, x):
        b, c, h, w = x.shape
        y = x.float()
        mean = y.mean(dim=1, keepdim=True)
        std = torch.sqrt(y.var(dim=tuple(range(x.ndim)), unbiased=False, keepdim=True) + self.eps)
        return ((y - mean) / std).type_as(x) * self.weight + self.bias
""",
    ),
    "one number for all features, to which 1 is added": (
        ("NRM504",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * (1 + self.weight.float())).type_as(x)
""",
    ),
    "one number for all features, which starts at 2": (
        ("NRM406", "NRM504"),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * (1 + self.weight.float())).type_as(x)
""",
    ),
    "a print where a flag asks for the upcast": (
        ("NRM503",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, upcast=True):
        super().__init__()
        self.eps = eps
        self.upcast = upcast
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        dtype = x.dtype
        if self.upcast:
            x = x.float()
            print(x.shape)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x.to(dtype) * self.weight
""",
    ),
}
