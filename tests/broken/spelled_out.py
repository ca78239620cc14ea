"""Broken: spelled out."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "mean over everything through torch.mean(input=)": (
        ("NRM101",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(torch.mean(input=h.pow(exponent=2)) + self.eps)).type_as(x) * self.weight
""",
    ),
    "mean over the tokens through torch.mean(input=, dim=1)": (
        ("NRM103",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(torch.mean(input=h.pow(exponent=2), dim=-2, keepdim=True)
            + self.eps)).type_as(x) * self.weight
""",
    ),
    "no upcast with einsum for the squares": (
        ("NRM201",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        ms = torch.einsum('...d,...d->...', x, x).unsqueeze(-1) / x.shape[-1]
        return x * torch.rsqrt(ms + self.eps) * self.weight
""",
    ),
    "einsum for the squares and no division": (
        ("NRM104",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        ss = torch.einsum('...d,...d->...', h, h).unsqueeze(-1)
        return (h * torch.rsqrt(ss + self.eps)).type_as(x) * self.weight
""",
    ),
    "einsum without keeping the axis": (
        ("NRM102",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        ms = torch.einsum('bld,bld->bl', h, h) / x.shape[-1]
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    ),
    "squares summed and divided by chained methods without an upcast": (
        ("NRM201",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * x.square().sum(-1, keepdim=True).div(x.size(-1)).add(self.eps).rsqrt() * self.weight
""",
    ),
    "a vector norm over the root of D and eps outside the root of squares": (
        ("NRM302",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        rms = h.square().sum(-1, keepdim=True).div(h.size(-1)).sqrt().add(self.eps)
        return h.div(rms).type_as(x).mul(self.weight)
""",
    ),
    "a vector norm divided by D": (
        ("NRM104",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        rms = torch.linalg.vector_norm(h, ord=2, dim=-1, keepdim=True) / h.shape[-1]
        return (h / (rms + self.eps)).type_as(x) * self.weight
""",
    ),
    "var_mean with its default correction, unpacked": (
        ("NRM105",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        (v, m) = torch.var_mean(h, dim=-1, keepdim=True)
        return ((h - m) / (v + self.eps) ** 0.5).type_as(x) * self.weight
""",
    ),
    "std_mean unpacked with the default correction": (
        ("NRM105",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        std, mean = torch.std_mean(h, dim=-1, keepdim=True)
        return ((h - mean) / (std.pow(2) + self.eps).sqrt()).type_as(x) * self.weight
""",
    ),
    "the root mean square multiplied in a walrus": (
        ("NRM401",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * (rms := torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps))).type_as(x) * self.weight
""",
    ),
    "divided in place by an inverse root": (
        ("NRM401",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float().clone()
        r = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        h /= r
        return h.type_as(x) * self.weight
""",
    ),
    "no root with the power of minus one": (
        ("NRM402",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * (h.pow(2).mean(-1, keepdim=True) + self.eps) ** -1).type_as(x) * self.weight
""",
    ),
    "a root taken twice in two helpers": (
        ("NRM402",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h / torch.sqrt(self.rms(h))).type_as(x) * self.weight

    def rms(self, h):
        return torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
""",
    ),
    "the square forgotten with a mean by einops": (
        ("NRM403",),
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
        ms = reduce(h, '... d -> ... 1', 'mean')
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    ),
    "the tokens reduced by einops": (
        ("NRM103",),
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
        ms = reduce(h ** 2, 'b l d -> b 1 d', 'mean')
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    ),
    "a lambda helper that squares in half": (
        ("NRM201",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        rms = lambda t: t.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(rms(x) + self.eps) * self.weight
""",
    ),
}
