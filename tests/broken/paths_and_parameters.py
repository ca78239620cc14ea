"""Broken: gains that one path forgets, axes that a caller names, lengths that are squared."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "an eps that is too large, in a buffer": (
        ("NRM303",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1.0):
        super().__init__()
        self.register_buffer("eps", torch.tensor(eps))
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
""",
    ),
    "a gain that is applied by a fused call alone": (
        ("NRM505",),
        """
from kernels import fused_rms_norm

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if x.is_cuda and not torch.compiler.is_compiling():
            return fused_rms_norm(x, self.weight, self.eps)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
""",
    ),
    "a gain of which only the dtype is read, by type_as": (
        ("NRM505",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(self.weight)
""",
    ),
    "a gain of which only the dtype is read, by to": (
        ("NRM505",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.to(self.weight)
""",
    ),
    "a gain that only the forward above applies, which is replaced": (
        ("NRM505",),
        """
class Base(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight

class ClampedRMSNorm(Base):
    def forward(self, x):
        h = x.float().clamp(-100, 100)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
""",
    ),
    "an axis that the caller names, which is lost": (
        ("NRM102",),
        """
class RMSNorm(nn.Module):
    def __init__(self, axis, eps=1e-6):
        super().__init__()
        self.axis, self.eps = axis, eps

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(self.axis) + self.eps)).to(x.dtype)
""",
    ),
    "a lost axis beside a gain that is viewed": (
        ("NRM102",),
        """
def feature_norm(x, gain, shift, eps=1e-5):
    h = x.float()
    h = h - h.mean(dim=-1, keepdim=True)
    h = (h / torch.sqrt((h**2).mean(dim=-1) + eps)).to(x.dtype)
    return gain.view(1, 1, 1, -1) * h + shift.view(1, 1, 1, -1)
""",
    ),
    "a variance over three axes, beside a mean over the one of the gain, in a class without a name": (
        ("NRM103",),
        """
class Scaled(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        centred = h - h.mean(-1, keepdim=True)
        var = (centred * centred).mean((-3, -2, -1), keepdim=True)
        return (centred / torch.sqrt(var + self.eps)).to(x.dtype) * self.weight + self.bias
""",
    ),
    "groups behind axes that aren't counted, whose statistic loses its axis": (
        ("NRM102",),
        """
class GroupedRMSNorm(nn.Module):
    def __init__(self, dim, size, eps=1e-6):
        super().__init__()
        self.size, self.eps = size, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        *ahead, last = x.shape
        h = x.float().view(*ahead, last // self.size, self.size)
        h = h * torch.rsqrt(h.pow(2).mean(-1) + self.eps)
        return h.view(*ahead, last).to(x.dtype) * self.weight
""",
    ),
    "a length that is squared in the input's dtype": (
        ("NRM201",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        ms = torch.linalg.vector_norm(x, dim=-1, keepdim=True).pow(2) / x.shape[-1]
        return (x * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.weight
""",
    ),
    "an eps behind the root of a length that is squared": (
        ("NRM302",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        ms = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32).pow(2) / x.shape[-1]
        return (x / (torch.sqrt(ms) + self.eps)).to(x.dtype) * self.weight
""",
    ),
    "a gain that is rounded to a half": (
        ("NRM205",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight.bfloat16() * h.to(x.dtype)
""",
    ),
    "an input that is divided by": (
        ("NRM402",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (self.weight / h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
""",
    ),
}
