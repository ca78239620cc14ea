"""Classes that derive from torch's norms, gains of nested modules, eps that is taken and written out beside it."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "a subclass of LayerNorm whose default eps is as large as what it is added to": (
        ("NRM303",),
        """
class ChannelNorm(nn.LayerNorm):
    def __init__(self, channels, eps=0.05):
        super().__init__(channels, eps=eps)

    def forward(self, x):
        y = F.layer_norm(x.movedim(1, -1), self.normalized_shape, self.weight, self.bias, self.eps)
        return y.movedim(-1, 1)
""",
    ),
    "the same by position, through the forward of the base": (
        ("NRM303",),
        """
class Wide(nn.LayerNorm):
    def __init__(self, features, small=0.5):
        super().__init__(features, small)

    def forward(self, x):
        return super().forward(x.float()).type_as(x)
""",
    ),
    "the base's constructor called by its class": (
        ("NRM303",),
        """
class Wide(nn.RMSNorm):
    def __init__(self, features, eps=0.0):
        nn.RMSNorm.__init__(self, features, eps)

    def forward(self, x):
        return super().forward(x.float()).type_as(x)
""",
    ),
    "a subclass without a constructor that writes its eps out": (
        ("NRM304",),
        """
class Transposed(nn.LayerNorm):
    def forward(self, x):
        x = F.layer_norm(x.mT, self.normalized_shape, self.weight, self.bias, 1e-5)
        return x.mT
""",
    ),
    "a subclass in fp32 that stays there": (
        ("NRM203",),
        """
class Careful(nn.LayerNorm):
    def forward(self, x):
        return F.layer_norm(x.float(), self.normalized_shape, self.weight.float(), self.bias.float(), self.eps)
""",
    ),
    "a subclass that leaves out the weight of its base": (
        ("NRM505",),
        """
class Shifting(nn.LayerNorm):
    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) + self.bias
""",
    ),
    "eps written out where a fast path has the right one": (
        ("NRM304",),
        """
from kernels import fast_rms_norm

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, fast=False):
        super().__init__()
        self.eps = eps
        self.fast = fast
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if self.fast:
            return fast_rms_norm(x, self.weight, self.eps)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight
""",
    ),
    "eps that a function without a telling name takes and drops": (
        ("NRM304",),
        """
def apart(rows, eps):
    h = rows.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(rows)
""",
    ),
    "an eps that is dropped beside keywords that are unpacked": (
        ("NRM304",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, device=None):
        super().__init__()
        where = {"device": device}
        self.eps = 1e-6
        self.weight = nn.Parameter(torch.ones(dim, **where))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "the gain of a nested module along another axis": (
        ("NRM103",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.inner = nn.Module()
        self.inner.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-2, keepdim=True) + self.eps)).type_as(x) * self.inner.weight
""",
    ),
    "a parameter by its long path, never filled": (
        ("NRM504",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.parameter.Parameter(torch.empty(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "a bias that is a plain tensor": (
        ("NRM501",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.shape = (dim,)
        self.weight = nn.Parameter(torch.ones(dim))
        self.offset = torch.zeros(dim)

    def forward(self, x):
        return F.layer_norm(x, self.shape, self.weight, self.offset, self.eps)
""",
    ),
    "a gain of each head that nobody applies": (
        ("NRM505",),
        """
class HeadNorm(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.scale = dim**0.5
        self.gamma = nn.Parameter(torch.ones(heads, 1, dim) / self.scale)

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale
""",
    ),
    "a gain that is only asked for": (
        ("NRM505",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, affine=True):
        super().__init__()
        self.eps = eps
        if affine:
            self.g, self.b = nn.Parameter(torch.ones(dim)), None
        else:
            self.g, self.b = None, None

    def forward(self, x):
        h = x.float()
        h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
        return h if hasattr(self, "g") else -h
""",
    ),
    "a mean that no gradient flows through": (
        ("NRM405",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True).detach()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight + self.bias
""",
    ),
    "a mean that is rounded to half": (
        ("NRM205",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True).bfloat16()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight + self.bias
""",
    ),
    "a mean over tokens and features, a variance over features": (
        ("NRM103",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h - h.mean((-2, -1), keepdim=True)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight
""",
    ),
    "a function over tokens and features beside an argument that scales": (
        ("NRM103",),
        """
def rms_norm(x, scale_by, eps):
    h = x.float()
    return (h * torch.rsqrt(h.square().mean((-2, -1), keepdim=True) + eps)).type_as(x) * scale_by
""",
    ),
    "a mean that is divided by a length once more, whichever axis it belongs to": (
        ("NRM104",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(1, keepdim=True)
        h = h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) / h.size(-1) + self.eps)
        return h.type_as(x) * self.weight[:, None, None]
""",
    ),
    "a clamped norm without a root": (
        ("NRM402",),
        """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    h = h / (h.pow(2).mean(-1, keepdim=True) + eps) * weight
    return torch.clamp(h, min=-65504, max=65504).type_as(x)
""",
    ),
    "as many axes put back as a shape has lengths, without a root": (
        ("NRM402",),
        """
def rms_norm(x, normalized_shape, eps=1e-6):
    h = x.float()
    ms = h.pow(2).flatten(-len(normalized_shape)).mean(-1)[(...,) + (None,) * len(normalized_shape)]
    return (h / (ms + eps)).type_as(x)
""",
    ),
    "a gain that einsum scales by, of one element": (
        ("NRM504",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(1))

    def forward(self, x):
        h = x.float()
        h = (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)).type_as(x)
        return torch.einsum("b c ..., c -> b c ...", h, self.gamma)
""",
    ),
    "F.normalize over the heads, with a gain for each of them": (
        ("NRM106",),
        """
class HeadNorm(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.scale = dim**0.5
        self.gamma = nn.Parameter(torch.ones(heads, 1, dim))

    def forward(self, x):
        return F.normalize(x) * self.scale * self.gamma
""",
    ),
    "the axes of a list squeezed again": (
        ("NRM102",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h - h.mean([-1], keepdim=True)
        var = h.pow(2).mean([-1], keepdim=True).squeeze([-1])
        return (h * torch.rsqrt(var + self.eps)).type_as(x) * self.weight
""",
    ),
}
