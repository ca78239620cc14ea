"""Broken: in modules."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "the variance is of the input, the numerator is not centred": (
        ("NRM404",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        m = h.mean(-1, keepdim=True)
        v = ((h - m) ** 2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(v + self.eps)).type_as(x) * self.weight
""",
    ),
    "the numerator is centred, the mean square is not": (
        ("NRM404",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        m = h.mean(-1, keepdim=True)
        v = (h ** 2).mean(-1, keepdim=True)
        return ((h - m) * torch.rsqrt(v + self.eps)).type_as(x) * self.weight
""",
    ),
    "no eps at all in a function called rms_norm": (
        ("NRM301",),
        """
def rms_norm(x, w):
    h = x.float()
    return (h / h.pow(2).mean(-1, keepdim=True).sqrt()).type_as(x) * w
""",
    ),
    "a bias that is never added": (
        ("NRM505",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "an eps taken and a constant used": (
        ("NRM304",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight
""",
    ),
    "a print through a helper": (
        ("NRM503",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        self.show(h)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight

    def show(self, h):
        print('shape', h.shape)
""",
    ),
    "the input is what torch writes the product into": (
        ("NRM502",),
        """
def rms_norm(x, weight, eps=1e-5):
    inv = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
    torch.mul(x, inv, out=x)
    return x * weight
""",
    ),
    "the input is multiplied in place and never cast back": (
        ("NRM203", "NRM502"),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        x = x.float()
        x *= torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * self.weight
""",
    ),
    "the input is divided in place with div_": (
        ("NRM502",),
        """
def rms_norm(x, eps=1e-6):
    return x.div_(x.float().pow(2).mean(-1, keepdim=True).add(eps).sqrt())
""",
    ),
    "a gain of one element by torch.ones(1) in an RMSNorm": (
        ("NRM504",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.scale
""",
    ),
    "a gain of torch.empty never filled": (
        ("NRM504",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "normalize by default in a module that scales by the root of D": (
        ("NRM106",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.scale = dim ** 0.5

    def forward(self, x):
        return F.normalize(x) * self.scale * self.weight
""",
    ),
    "normalize by default through the long import": (
        ("NRM106",),
        """
import torch

class RMSNorm(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.g = torch.nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return torch.nn.functional.normalize(x) * math.sqrt(self.dim) * self.g
""",
    ),
    "a norm in __call__ of a plain class": (
        ("NRM201",),
        """
class RMSNorm:
    def __init__(self, dim, eps=1e-6):
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def __call__(self, x):
        return self.g * x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
""",
    ),
    "a norm in a nested function": (
        ("NRM201",),
        """
def make_norm(dim, eps=1e-6):
    weight = torch.ones(dim)

    def norm(x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight

    return norm
""",
    ),
    "qk norm in attention with eps outside": (
        ("NRM302",),
        """
class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.q_scale = nn.Parameter(torch.ones(dim // heads))
        self.k_scale = nn.Parameter(torch.ones(dim // heads))

    def rms(self, t, w, eps=1e-6):
        f = t.float()
        return (f / (f.pow(2).mean(-1, keepdim=True).sqrt() + eps)).to(t.dtype) * w

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = self.rms(q, self.q_scale), self.rms(k, self.k_scale)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d)
""",
    ),
    "qk norm inline in attention without an upcast": (
        ("NRM201",),
        """
class Attention(nn.Module):
    def __init__(self, dim, heads, eps=1e-6):
        super().__init__()
        self.heads, self.eps = heads, eps
        self.qkv = nn.Linear(dim, 3 * dim)
        self.q_norm_weight = nn.Parameter(torch.ones(dim // heads))
        self.k_norm_weight = nn.Parameter(torch.ones(dim // heads))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, n, self.heads, -1).transpose(1, 2)
        k = k.view(b, n, self.heads, -1).transpose(1, 2)
        q = q * torch.rsqrt(q.pow(2).mean(-1, keepdim=True) + self.eps) * self.q_norm_weight
        k = k * torch.rsqrt(k.pow(2).mean(-1, keepdim=True) + self.eps) * self.k_norm_weight
        return F.scaled_dot_product_attention(q, k, v.view(b, n, self.heads, -1).transpose(1, 2))
""",
    ),
    "both branches invert the scale": (
        ("NRM401",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True) + self.eps
        if self.training:
            out = h * ms.sqrt()
        else:
            out = h * ms.sqrt()
        return out.type_as(x) * self.weight
""",
    ),
    "one branch inverts the scale": (
        ("NRM401",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True) + self.eps
        if self.training:
            out = h / ms.sqrt()
        else:
            out = h * ms.sqrt()
        return out.type_as(x) * self.weight
""",
    ),
}
