"""Sound: what a setting of the file, a flag or a test decides."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a gain that a function of the file applies": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)

def scaled(norm, x):
    return norm(x) * norm.weight
""",
    "a layer norm over two axes, with a gain of a shape that is unpacked": """
class LayerNorm(nn.Module):
    def __init__(self, shape, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(*shape))
        self.bias = nn.Parameter(torch.zeros(*shape))

    def forward(self, x):
        h = x.float()
        mean = h.mean((-2, -1), keepdim=True)
        var = h.var((-2, -1), keepdim=True, correction=0)
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias
""",
    "an RMS norm over two axes, with a gain of a list that is unpacked": """
class RMSNorm(nn.Module):
    def __init__(self, shape, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones([*shape]))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean([-1, -2], keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "an eps that is read by vars(self)": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, num_groups=1):
        super().__init__()
        self.eps = eps
        self.num_groups = num_groups
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        settings = vars(self)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + settings["eps"])).type_as(x) * self.weight
""",
    "an eps that is handed on with self.__dict__": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, num_groups=1):
        super().__init__()
        self.eps = eps
        self.num_groups = num_groups
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return rms_norm_impl(h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight, **self.__dict__)
""",
    "a layer norm in a file whose default are doubles": """
import torch
from torch import nn
torch.set_default_dtype(torch.double)

class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        m = x.mean(-1, keepdim=True)
        v = (x - m).pow(2).mean(-1, keepdim=True)
        return (x - m) / torch.sqrt(v + self.eps) * self.weight + self.bias
""",
    "an RMS norm in a script whose default are doubles": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight

def main():
    torch.set_default_dtype(torch.float64)
    print(RMSNorm(4)(torch.randn(2, 4)))

if __name__ == "__main__":
    main()
""",
    "a sum to which a flag of the constructor adds the root of D": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, scaled=True):
        super().__init__()
        self.scaled = scaled
        self.dim = dim
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) + self.eps)
        if self.scaled:
            h = h * self.dim ** 0.5
        return h.type_as(x) * self.weight
""",
    "a sum to which a method of an argument adds the root of D": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim = dim
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, mode="rms"):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) + self.eps)
        if mode.startswith("rms"):
            h = h * math.sqrt(self.dim)
        return h.type_as(x) * self.weight
""",
    "a factor that the constructor takes from what isn't read": """
class RMSNorm(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.factor = 1.0
        if is_enabled(config):
            self.factor = dim ** 0.5
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x.float(), dim=-1).type_as(x) * self.factor * self.weight
""",
    "a sum that an argument makes a mean": """
def rms_norm(x, weight, eps=1e-6, reduce="mean"):
    h = x.float()
    s = h.pow(2).sum(-1, keepdim=True)
    if reduce == "mean":
        s = s / h.shape[-1]
    return (h * torch.rsqrt(s + eps)).type_as(x) * weight
""",
    "zeros that torch.where replaces": """
def rms_norm(x, weight):
    h = x.float()
    ms = h.pow(2).mean(-1, keepdim=True)
    ms = torch.where(ms == 0, torch.ones_like(ms), ms)
    return (h * torch.rsqrt(ms)).type_as(x) * weight
""",
    "zeros that masked_fill replaces": """
def rms_norm(x, weight):
    h = x.float()
    ms = h.pow(2).mean(-1, keepdim=True)
    ms = ms.masked_fill(ms == 0, 1.0)
    return (h * torch.rsqrt(ms)).type_as(x) * weight
""",
    "zeros to which one is added": """
def rms_norm(x, weight):
    h = x.float()
    ms = h.pow(2).mean(-1, keepdim=True)
    return (h * torch.rsqrt(ms + (ms == 0))).type_as(x) * weight
""",
    "a target that is normalised and given back without gradients": """
def target_norm(t, eps=1e-6):
    with torch.no_grad():
        t = t.float()
        return (t - t.mean(-1, keepdim=True)) * torch.rsqrt(t.var(-1, keepdim=True, correction=0) + eps)
""",
    "a variance that is multiplied by (n - 1) / n of a length": """
def layer_norm(x, w, b, eps=1e-5):
    h = x.float()
    n = h.shape[-1]
    var = h.var(-1, keepdim=True) * (n - 1) / n
    return ((h - h.mean(-1, keepdim=True)) * torch.rsqrt(var + eps)).type_as(x) * w + b
""",
    "a partial RMS norm": """
class PartialRMSNorm(nn.Module):
    def __init__(self, d, p=0.25, eps=1e-8):
        super().__init__()
        self.k = int(d * p)
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d))

    def forward(self, x):
        part = x[..., : self.k].float()
        rms = torch.sqrt(part.pow(2).mean(-1, keepdim=True) + self.eps)
        return (x / rms).type_as(x) * self.scale
""",
    "a gain that starts at zero, as the name says": """
class ZeroInitRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
}
