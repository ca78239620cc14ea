"""Broken: in helpers."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "eps beside the root in a module-level helper with keyword arguments": (
        ("NRM302",),
        """
def _normalize(*, values, epsilon):
    root = values.pow(2).mean(dim=-1, keepdim=True).sqrt()
    return values / (root + epsilon)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return (_normalize(values=x.float(), epsilon=self.eps)).type_as(x) * self.weight
""",
    ),
    "eps from a module-level constant of 0.1": (
        ("NRM303",),
        """
EPS = 1e-1


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + EPS)).type_as(x) * self.weight
""",
    ),
    "eps from a class attribute of 0": (
        ("NRM303",),
        """
class RMSNorm(nn.Module):
    EPS = 0.0

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.EPS)).type_as(x) * self.weight
""",
    ),
    "a dataclass config and no upcast": (
        ("NRM201",),
        """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Config:
    dim: int = 512
    norm_eps: float = 1e-5

class RMSNorm(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.cfg = config
        self.weight = nn.Parameter(torch.ones(config.dim))

    def forward(self, hidden_states, *args, **kwargs):
        return self.weight * hidden_states * torch.rsqrt(hidden_states.pow(2).mean(-1, keepdim=True)
            + self.cfg.norm_eps)
""",
    ),
    "a base class helper that reduces over everything": (
        ("NRM101",),
        """
class Base(nn.Module):
    def _rms(self, x):
        return x.pow(2).mean().add(self.eps).sqrt()

class RMSNorm(Base):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h / self._rms(h)).type_as(x) * self.weight
""",
    ),
    "keepdim forgotten in a property-like static method": (
        ("NRM102",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    @staticmethod
    def mean_square(x):
        return x.square().mean(-1)

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(RMSNorm.mean_square(h) + self.eps)).type_as(x) * self.weight
""",
    ),
    "a class method computes the norm in half": (
        ("NRM201",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    @classmethod
    def normalise(cls, x, eps):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

    def forward(self, x):
        return self.normalise(x, self.eps) * self.weight
""",
    ),
    "a gain as a plain tensor in a loop of heads": (
        ("NRM501",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gain = torch.ones(dim)

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.gain
""",
    ),
    "one plus a weight of ones through torch.add": (
        ("NRM406",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * torch.add(self.weight, 1)
""",
    ),
    "never cast back with a double": (
        ("NRM203",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.double()
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
""",
    ),
    "never cast back in a function": (
        ("NRM203",),
        """
def rms_norm(x, w, eps=1e-6):
    x = x.to(torch.float32)
    x = x / torch.sqrt(x.square().mean(-1, True) + eps)
    return x * w
""",
    ),
    "upcast of the mean through dtype=": (
        ("NRM202",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        ms = x.pow(2).mean(-1, keepdim=True, dtype=torch.float32)
        return (x * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    ),
    "the square is taken before float in a chain": (
        ("NRM202",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        ms = x.square().float().mean(-1, keepdim=True)
        return (x.float() * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    ),
    "the statistic inside a no_grad block": (
        ("NRM405",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        with torch.no_grad():
            r = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * r).type_as(x) * self.weight
""",
    ),
    "the statistic of a detached input": (
        ("NRM405",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        r = torch.rsqrt(h.detach().pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * r).type_as(x) * self.weight
""",
    ),
    "the statistic from .data": (
        ("NRM405",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        r = torch.rsqrt(h.data.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * r).type_as(x) * self.weight
""",
    ),
    "one pass with two variables": (
        ("NRM204",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        m = h.mean(-1, keepdim=True)
        m2 = (h * h).mean(-1, keepdim=True)
        return ((h - m) * torch.rsqrt(m2 - m * m + self.eps)).type_as(x) * self.weight
""",
    ),
}
