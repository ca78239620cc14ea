"""Broken: in scripts."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "try and except around the import, no upcast in the fallback": (
        ("NRM201",),
        """
try:
    from apex.normalization import FusedRMSNorm as RMSNorm
except ImportError:
    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
""",
    ),
    "dims in a tuple of a class attribute reduce batch and tokens": (
        ("NRM103",),
        """
class RMSNorm(nn.Module):
    dims = (0, 1)

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(self.dims, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "a sum divided by the length of the sequence": (
        ("NRM104",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        b, l, d = x.shape
        return (h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) / l + self.eps)).type_as(x) * self.weight
""",
    ),
    "normalize without the root of D in an RMSNorm": (
        ("NRM104",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.weight
""",
    ),
    "a try around the norm with eps outside": (
        ("NRM302",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        try:
            h = x.float()
            out = h / (torch.sqrt(torch.mean(h ** 2, -1, keepdim=True)) + self.eps)
        finally:
            pass
        return out.type_as(x) * self.weight
""",
    ),
    "eps outside in a match statement": (
        ("NRM302",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.mode = 'rms'

    def forward(self, x):
        h = x.float()
        match self.mode:
            case 'rms':
                out = h / (h.pow(2).mean(-1, keepdim=True).sqrt() + self.eps)
            case _:
                out = h
        return out.type_as(x) * self.weight
""",
    ),
    "type comments and a global mean": (
        ("NRM101",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        # type: (Tensor) -> Tensor
        h = x.float()  # type: Tensor
        return (h * torch.rsqrt(h.pow(2).mean() + self.eps)).type_as(x) * self.weight
""",
    ),
    "bfloat16 written into the statistic": (
        ("NRM205",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        r = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps).to(torch.bfloat16)
        return x * r * self.weight
""",
    ),
    "the output fixed to half": (
        ("NRM205",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).half() * self.weight
""",
    ),
    "the property computes the scale over everything": (
        ("NRM101",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def inv_rms(self, x): return 1 / (x.pow(2).mean() + self.eps).sqrt()

    def forward(self, x): return (x.float() * self.inv_rms(x.float())).to(x) * self.g
""",
    ),
    "a context manager and augmented addition": (
        ("NRM302",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        with torch.autocast('cuda', enabled=False):
            h = x.float()
            rms = h.pow(2).mean(-1, keepdim=True)
            rms = rms.sqrt()
            rms += self.eps
            y = h / rms
        return y.type_as(x) * self.weight
""",
    ),
    "numpy-like axis spelling with a sample variance": (
        ("NRM105",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        mu = torch.mean(h, axis=-1, keepdims=True)
        va = torch.var(h, axis=-1, keepdims=True)
        return ((h - mu) / torch.sqrt(va + self.eps)).type_as(x) * self.weight
""",
    ),
    "keepdim given and dim forgotten": (
        ("NRM101",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h / torch.sqrt(torch.mean(h ** 2, dim=None, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "no upcast with torch.float_power by two": (
        ("NRM201",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(torch.pow(x, exponent=2).mean(-1, keepdim=True) + self.eps) * self.weight
""",
    ),
    "the root is forgotten in a layer norm with var": (
        ("NRM402",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return ((h - h.mean(-1, keepdim=True)) / (h.var(-1, unbiased=False, keepdim=True)
            + self.eps)).type_as(x) * self.weight
""",
    ),
    "no eps in a layer norm": (
        ("NRM301",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return ((h - h.mean(-1, keepdim=True)) / h.var(-1, unbiased=False,
            keepdim=True).sqrt()).type_as(x) * self.weight
""",
    ),
    "the annotated transformer's std": (
        ("NRM105", "NRM302"),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        std = h.std(-1, keepdim=True)
        return (self.weight * (h - mean) / (std + self.eps)).type_as(x)
""",
    ),
}
