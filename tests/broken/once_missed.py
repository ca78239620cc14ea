"""Broken: once missed."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
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
}
