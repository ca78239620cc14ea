"""Classes that derive from torch's norms or hold parameters in other modules, and eps that has a reason to stay out."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a subclass whose checkpoint has the gain less one": """
class OnePlus(nn.LayerNorm):
    def forward(self, x):
        return F.layer_norm(x, self.normalized_shape, self.weight + 1, self.bias, self.eps)
""",
    "a subclass that fixes its eps and takes none by name": """
class Fixed(nn.LayerNorm):
    def __init__(self, size, *args, **kwargs):
        super().__init__(size, *args, **kwargs)
        self.last = (size[-1],)

    def forward(self, x):
        return F.layer_norm(x, self.last, None, None, eps=1e-5) * self.weight + self.bias
""",
    "a subclass that hands all on to its base": """
class InFloat(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.float()).type_as(x)
""",
    "a subclass with a method beside the forward that it inherits": """
class Both(nn.LayerNorm):
    def plain(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
""",
    "an eps that is left out unless given": """
def rms_norm(x, weight, eps=None):
    eps = 1e-6 if eps is None else eps
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
""",
    "an eps that is stored for nobody, and handed to the norm that a function is given": """
def rms_norm(x, norm):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + norm.eps)).type_as(x) * norm.weight

class Attention(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.norm = nn.RMSNorm(dim, eps=eps)

    def forward(self, q, k):
        return rms_norm(q, self.norm) @ k.mT
""",
    "an eps for the norms inside, and another for the queries": """
class Attention(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = self.norm(x) / (x.abs().amax(-1, keepdim=True) + self.eps)
        h = h.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.scale
""",
    "the gain in a module of its own": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.inner = nn.Module()
        self.inner.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * (1 + self.inner.weight)
""",
    "centred over the nodes, scaled by the length of each": """
class PairNorm(nn.Module):
    def __init__(self, scale=1.0, eps=1e-5):
        super().__init__()
        self.scale = scale
        self.eps = eps

    def forward(self, x):
        h = x.float()
        h = h - h.mean(dim=0, keepdim=True)
        return (self.scale * h / (self.eps + h.norm(2, -1, keepdim=True))).type_as(x)
""",
    "an output that is cut off where a half ends": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps) * weight.float()
    return torch.clamp(h, min=-65504, max=65504).type_as(x)
""",
    "a flag that says whether one is added to the gain": """
class RMSNorm(nn.Module):
    def __init__(self, dim, offset=False):
        super().__init__()
        self.offset = offset
        self.scale = dim**0.5
        self.g = nn.Parameter(torch.zeros(dim))
        nn.init.constant_(self.g, 1.0 - float(offset))

    def forward(self, x):
        return F.normalize(x.float(), dim=-1).type_as(x) * self.scale * (self.g + float(self.offset))
""",
    "a standard error": """
def z_scores(x):
    n = x.shape[0]
    return (x - x.mean(0)) / (x.var(0) / n).sqrt()
""",
    "a gain asked for by its name": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
        return h * getattr(self, "g") if hasattr(self, "g") else h
""",
}
