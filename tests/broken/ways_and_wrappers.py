"""Broken: prints on one way of several, torch's norms around a sum, gains of one branch, axes by attribute."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "a print of a shape on a way that has a product of its own": (
        ("NRM503",),
        """
class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        if x.dtype == torch.float16 and sum(self.normalized_shape) < 512:
            with torch.amp.autocast("cuda", enabled=False):
                return super().forward(x)
        print(x.shape)
        return super().forward(x)
""",
    ),
    "a print in a wrapper of torch's norm that takes a sum": (
        ("NRM503",),
        """
class AddNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, residual):
        print(x.dtype)
        return self.norm(x + residual)
""",
    ),
    "a square in halves in a method that a decorator keeps out of autocast": (
        ("NRM201",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    @torch.cuda.amp.autocast(enabled=False)
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
""",
    ),
    "an eps that is too large in a wrapper that takes a scaled sum": (
        ("NRM303",),
        """
class DeepNorm(nn.Module):
    def __init__(self, alpha, dim, eps=0.5):
        super().__init__()
        self.alpha = alpha
        self.norm = nn.LayerNorm(dim, eps=eps)

    def forward(self, x, residual):
        return self.norm(self.alpha * residual + x)
""",
    ),
    "an eps that is too large in a wrapper that clamps what comes in": (
        ("NRM303",),
        """
class SafeLayerNorm(nn.Module):
    def __init__(self, dim, eps=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)

    def forward(self, x):
        return self.norm(x.clamp(-100.0, 100.0))
""",
    ),
    "an fp32 output of a wrapper that isn't called a norm": (
        ("NRM203",),
        """
class Dropped(nn.Module):
    def __init__(self, dim, p=0.1):
        super().__init__()
        self.dropout = nn.Dropout(p)
        self.inner = nn.LayerNorm(dim)

    def forward(self, x):
        return self.inner(self.dropout(x)).float()
""",
    ),
    "a lost axis of a norm that only its cast back speaks for": (
        ("NRM102",),
        """
def unit(x):
    h = x.float()
    rms = h.square().mean(-1).clamp_min(1e-6).sqrt()
    return (h / rms).to(x.dtype)
""",
    ),
    "a gain that is never filled, where another branch registers a buffer": (
        ("NRM504",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, scaled=True):
        super().__init__()
        self.eps = eps
        if scaled:
            self.weight = nn.Parameter(torch.empty(dim))
        else:
            self.register_buffer("weight", torch.tensor(1.0), persistent=False)

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * self.weight.float()).type_as(x)
""",
    ),
    "one gain for all features, where another branch registers a buffer of all of them": (
        ("NRM504",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, fixed=False):
        super().__init__()
        self.eps = eps
        if fixed:
            self.register_buffer("weight", torch.ones(dim))
        else:
            self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * self.weight.float()).type_as(x)
""",
    ),
    "a gain that begins at zero, with √D of the axis that an attribute names": (
        ("NRM406",),
        """
class Scaled(nn.Module):
    def __init__(self, dim, axis=-1):
        super().__init__()
        self.axis = axis
        self.gain = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return F.normalize(x, dim=self.axis, eps=1e-6) * self.gain * x.shape[self.axis] ** 0.5
""",
    ),
    "a gain that only a fused call applies, and not while it is trained": (
        ("NRM505",),
        """
from kernels import fused_rms_norm

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if not self.training:
            return fused_rms_norm(x, self.weight, self.eps)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
""",
    ),
}
