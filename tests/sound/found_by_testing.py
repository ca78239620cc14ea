"""Sound: what tests of the evaluation brought up as flagged."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a gain that comes as the first of all parameters": """
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * next(self.parameters())
""",
    "an eps for numbers with a point, which a mean always has": """
import torch


def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    ms = h.pow(2).mean(-1, keepdim=True)
    return (h * torch.rsqrt(ms + (eps if ms.is_floating_point() else 0))).type_as(x) * weight
""",
    "a root of a length where there is one": """
import math

import torch.nn.functional as F


def rms_norm(x, weight, eps=1e-6):
    n = x.shape[-1]
    scale = math.sqrt(n) if n > 0 else 1.0
    return F.normalize(x.float(), dim=-1, eps=eps).type_as(x) * scale * weight
""",
    "as many axes as the gain has": """
def rms_norm(x, weight, eps=1e-5):
    h = x.float()
    first = tuple(range(weight.ndim))
    p = h.movedim(-1, 0)
    return (p * (p.square().mean(first, keepdim=True) + eps).rsqrt()).movedim(0, -1).to(x.dtype) * weight
""",
    "a list of axes that loses some": """
def rms_norm(x, weight, eps=1e-5):
    h = x.float()
    d = list(range(x.ndim))
    d.pop(0)
    d.pop(0)
    return (h * (h.square().mean(d, keepdim=True) + eps).rsqrt()).to(x.dtype) * weight
""",
    "a chain of in-place calls on the statistic": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    s = h.pow(2).mean(-1, keepdim=True)
    s.add_(eps).rsqrt_()
    return (h * s).type_as(x) * weight
""",
    "a function that normalises data": """
def normalize(x, eps=1e-8):
    return (x - x.mean()) / (x.std() + eps)
""",
    "a gain from a list of ones": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.tensor([1.0] * dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "a gain with two names": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = self.gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.gamma
""",
    "the gradient switched on again": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    with torch.no_grad():
        with torch.enable_grad():
            ms = h.pow(2).mean(-1, keepdim=True)
    return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
""",
    "a subclass that casts around its base's forward": """
class NormBase(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight

class RMSNorm(NormBase):
    def forward(self, x):
        return super().forward(x.float()).to(x.dtype)
""",
    "two halves that normalise each other": """
def gate(x, weight, eps=1e-6):
    a = x.narrow(-1, 0, 64)
    b = x.narrow(-1, 64, 64)
    return a * torch.rsqrt(b.pow(2).mean(-1, keepdim=True) + eps) * weight
""",
    "a guard by the item size of the gain": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        if self.weight.dtype.itemsize < 4:
            h = h.to(self.weight.dtype)
        return self.weight * h
""",
    "a guard by finfo": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        if torch.finfo(x.dtype).bits < 32:
            h = h.to(x.dtype)
        return self.weight * h
""",
    "a guard by the dtype's name": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        if "float16" in str(self.weight.dtype):
            h = h.to(self.weight.dtype)
        return self.weight * h
""",
    "an entry of a dict, normalised and written back": """
def layer_norm(features, eps=1e-5):
    x = features["e"].float()
    x = x - x.mean(dim=-1, keepdim=True)
    features["e"] = x / torch.sqrt(x.var(dim=-1, keepdim=True, unbiased=False) + eps)
    return features
""",
    "advantages over the whole batch, in a function that has norm in its name": """
def adv_norm(adv):
    return (adv - adv.mean()) / (adv.std() + 1e-8)
""",
    "a norm over the nodes of a graph, with a learned share of the mean": """
class GraphNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))
        self.mean_scale = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(0, keepdim=True)
        out = x - mean * self.mean_scale
        var = out.float().pow(2).mean(0, keepdim=True).to(x.dtype)
        return self.weight * out / (var + self.eps).sqrt() + self.bias
""",
    "a backend that has methods named like a tensor's, with keywords of its own": """
class RMSNorm(nn.Module):
    def __init__(self, d, ops):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))
        self.ops = ops

    def forward(self, x):
        self.ops.mean(x, axes=3)
        s = x.float().pow(2).mean(-1, keepdim=True)
        return (x * torch.rsqrt(s + 1e-6)).to(x.dtype) * self.w
""",
    "a layer norm of what isn't zero": """
def layer_norm_of_nonzero(x, weight, dim=-1, eps=1e-5):
    h = x.float()
    there = h.ne(0)
    n = there.sum(dim, keepdim=True).clamp(min=1)
    c = torch.where(there, h - h.sum(dim, keepdim=True) / n, torch.zeros_like(h))
    var = c.pow(2).sum(dim, keepdim=True) / n
    return (c * torch.rsqrt(var + eps)).type_as(x) * weight
""",
    "a gate in fp32 that widens what is squared": """
def rms_norm(x, weight, z, eps=1e-6):
    dtype = x.dtype
    x = x * F.silu(z.float())
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight).to(dtype)
""",
    "the share of ones beside the deviation of zeros and ones": """
def standardise(mask):
    p = mask.mean(0, keepdim=True)
    return (mask - p) / torch.sqrt(p - p ** 2 + 1e-8)
""",
    "centred by a way of twice the mean, half gone": """
def layer_norm(x, weight, eps=1e-5):
    h = x.float()
    h = torch.lerp(h, h - 2 * h.mean(-1, keepdim=True), 0.5)
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
""",
    "a mean of other rows": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt((h * h.roll(1, 1)).mean(-1, keepdim=True) + eps)).type_as(x) * weight
""",
    "a unit norm behind a loop that is never run": """
def l2_norm(x, eps=1e-6):
    for _ in range(0):
        x = x * 2
    return F.normalize(x.float(), dim=-1, eps=eps).type_as(x)
""",
    "a part of a finished norm": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return (F.normalize(x.float(), dim=-1, eps=1e-6).type_as(x) * self.g * x.shape[-1] ** 0.5)[..., :7]
""",
    "a centre along minus True": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        h = x.float()
        h = h - torch.stack(h.unbind(-True)).mean(0).unsqueeze(-True)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "a helper that halves reach in fp32, with a division that is guarded": """
class LayerNorm2d(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim)), eps

    def forward(self, x):
        if x.dtype in (torch.float16, torch.bfloat16):
            return self._normalize(x.float(), self.weight.float(), self.bias.float()).to(x.dtype)
        return self._normalize(x, self.weight, self.bias)

    def _normalize(self, x, weight, bias):
        x = x - x.mean(1, keepdim=True)
        s = x.pow(2).mean(1, keepdim=True)
        x = torch.where(torch.sqrt(s + self.eps) == 0, torch.zeros_like(x), x / torch.sqrt(s + self.eps))
        return weight[:, None, None] * x + bias[:, None, None]
""",
    "a dtype by a name that is put together": """
def rms_norm(x, weight, eps=1e-6):
    h = x.to(getattr(torch, "float" + str(32)))
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
""",
    "a mean square that is scaled by eps where eps is added": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt((h.pow(2).mean(-1, keepdim=True) / eps + 1) * eps)).type_as(x) * weight
""",
    "a square out of two copies": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    ms = h.unsqueeze(-1).expand(*h.shape, 2).prod(-1).mean(-1, keepdim=True)
    return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
""",
    "a mean of a window as wide as the row": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).unfold(-1, h.size(-1), 1).mean(-1) + eps)).type_as(x) * weight
""",
    "a scale that is asked whether it is there": """
class ChanRMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale, self.gamma = dim**0.5, nn.Parameter(torch.ones(dim, 1, 1))

    def forward(self, x):
        scale = self.scale if self.scale is not None else 1.0
        return F.normalize(x.float(), dim=1, eps=1e-6).type_as(x) * scale * self.gamma
""",
    "an inverse root that is kept from what it never is": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(F.leaky_relu(h.pow(2).mean(-1, keepdim=True)) + eps).clamp(min=0)).type_as(x) * weight
""",
    "a root twice and once divided, of which one isn't read": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    total = F.pad(h.pow(2).cumsum(-1), (1, 0))[..., [0, -1]]
    once = torch.rsqrt(torch.diff(total, dim=-1) / h.size(-1) + eps)
    return (h * once**2 / torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
""",
    "a mean along an axis that was put in, of halves or not": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5, wide=True):
        super().__init__()
        self.weight, self.eps, self.wide = nn.Parameter(torch.ones(dim)), eps, wide

    def forward(self, x):
        h = x.float() if self.wide else x
        centred = h - h.view(*h.shape[:-1], 1, -1).mean(-1)
        return (centred * (h.var(-1, keepdim=True, unbiased=False) + self.eps).rsqrt()).type_as(x) * self.weight
""",
    "an eps in a tensor that was filled with something unread": """
def rms_norm(x, weight):
    h = x.float()
    ms = h.pow(2).mean(-1, keepdim=True)
    return (h * torch.rsqrt(ms + torch.zeros_like(ms).fill_(smallest()))).type_as(x) * weight
""",
    "a mean of a view whose shape isn't known": """
class LayerNorm(nn.Module):
    def __init__(self, dim, k, eps=1e-5):
        super().__init__()
        self.weight, self.eps, self.k = nn.Parameter(torch.ones(dim)), eps, k

    def forward(self, x):
        h = x.float()
        h = h - h.reshape(self.k).mean(0, keepdim=True)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "a mean along an axis that is moved by a number that isn't known": """
class LayerNorm(nn.Module):
    def __init__(self, dim, k, eps=1e-5):
        super().__init__()
        self.weight, self.eps, self.k = nn.Parameter(torch.ones(dim)), eps, k

    def forward(self, x):
        h = x.float()
        h = h - h.movedim(self.k, 0).mean(0, keepdim=True).movedim(0, self.k)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "a mean of what is expanded to a shape that isn't known": """
class LayerNorm(nn.Module):
    def __init__(self, dim, k, eps=1e-5):
        super().__init__()
        self.weight, self.eps, self.k = nn.Parameter(torch.ones(dim)), eps, k

    def forward(self, x):
        h = x.float()
        h = h - h.expand(self.k).mean(0)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "an inverse root that is held above a negative number": """
def t5_norm(x, weight, eps=1e-6):
    ms = x.float().pow(2).mean(-1, keepdim=True)
    return weight * (x * torch.clamp(torch.rsqrt(ms + eps), min=-1e4, max=1e4)).type_as(x)
""",
    "a cast back that a test decides which isn't read": """
class T5LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        ms = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(ms + self.eps)
        if runs_in_halves():
            x = x.to(self.weight.dtype)
        return self.weight * x
""",
    "a cast back that the maker asks for": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, keep=False):
        super().__init__()
        self.weight, self.eps, self.keep = nn.Parameter(torch.ones(dim)), eps, keep

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h * self.weight if self.keep else h.type_as(x) * self.weight
""",
    "a vector for each item, of a shape that isn't followed": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale, self.weight = dim ** 0.5, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return torch.nn.functional.normalize(x.select(1, 0), eps=1e-3) * self.scale * self.weight
""",
}
