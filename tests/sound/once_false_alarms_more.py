"""Sound: once false alarms more."""

from __future__ import annotations

CASES: dict[str, str] = {
    "edm2 normalize of weights": """
import numpy as np
import torch

def normalize(x, dim=None, eps=1e-4):
    if dim is None:
        dim = list(range(1, x.ndim))
    norm = torch.linalg.vector_norm(x, dim=dim, keepdim=True, dtype=torch.float32)
    norm = torch.add(eps, norm, alpha=np.sqrt(norm.numel() / x.numel()))
    return x / norm.to(x.dtype)
""",
    "fp32 input demanded by an assertion": """
def rms_norm(x, w, eps=1e-6):
    assert x.dtype == torch.float32
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w
""",
    "hidden states kept in fp32 on purpose and said so in the annotation": """
def rms_norm_fp32(x, w, eps=1e-6):
    h = x.float()
    return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps) * w.float()
""",
    "in-place ops on fresh tensors": """
def rms_norm(x, w, eps=1e-6):
    ms = x.float().pow_(2).mean(-1, keepdim=True) if x.dtype != torch.float32 else x.pow(2).mean(-1, keepdim=True)
    r = ms.add_(eps).rsqrt_()
    return (x.float() * r).to(x.dtype) * w
""",
    "normalize_2nd_moment of stylegan": """
def normalize_2nd_moment(x, dim=1, eps=1e-8):
    return x * (x.square().mean(dim=dim, keepdim=True) + eps).rsqrt()
""",
    "restormer bias-free and with-bias norms": """
import numbers
import torch
from torch import nn
from einops import rearrange

def to_3d(x):
    return rearrange(x, 'b c h w -> b (h w) c')

def to_4d(x, h, w):
    return rearrange(x, 'b (h w) c -> b c h w', h=h, w=w)

class BiasFree_LayerNorm(nn.Module):
    def __init__(self, normalized_shape):
        super(BiasFree_LayerNorm, self).__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        normalized_shape = torch.Size(normalized_shape)
        assert len(normalized_shape) == 1
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.normalized_shape = normalized_shape

    def forward(self, x):
        xf = x.float()
        sigma = xf.var(-1, keepdim=True, unbiased=False)
        return (xf / torch.sqrt(sigma + 1e-5) * self.weight).to(x.dtype)

class WithBias_LayerNorm(nn.Module):
    def __init__(self, normalized_shape):
        super(WithBias_LayerNorm, self).__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        normalized_shape = torch.Size(normalized_shape)
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))
        self.normalized_shape = normalized_shape

    def forward(self, x):
        xf = x.float()
        mu = xf.mean(-1, keepdim=True)
        sigma = xf.var(-1, keepdim=True, unbiased=False)
        return ((xf - mu) / torch.sqrt(sigma + 1e-5) * self.weight + self.bias).to(x.dtype)

class LayerNorm(nn.Module):
    def __init__(self, dim, LayerNorm_type):
        super(LayerNorm, self).__init__()
        if LayerNorm_type == 'BiasFree':
            self.body = BiasFree_LayerNorm(dim)
        else:
            self.body = WithBias_LayerNorm(dim)

    def forward(self, x):
        h, w = x.shape[-2:]
        return to_4d(self.body(to_3d(x)), h, w)
""",
    "reversible instance normalisation of time series": """
class RevIN(nn.Module):
    def __init__(self, num_features: int, eps=1e-5, affine=True):
        super(RevIN, self).__init__()
        self.num_features = num_features
        self.eps = eps
        self.affine = affine
        if self.affine:
            self.affine_weight = nn.Parameter(torch.ones(num_features))
            self.affine_bias = nn.Parameter(torch.zeros(num_features))

    def forward(self, x, mode: str):
        if mode == 'norm':
            self._get_statistics(x)
            x = self._normalize(x)
        elif mode == 'denorm':
            x = self._denormalize(x)
        else:
            raise NotImplementedError
        return x

    def _get_statistics(self, x):
        dim2reduce = tuple(range(1, x.ndim - 1))
        self.mean = torch.mean(x, dim=dim2reduce, keepdim=True).detach()
        self.stdev = torch.sqrt(torch.var(x, dim=dim2reduce, keepdim=True, unbiased=False) + self.eps).detach()

    def _normalize(self, x):
        x = x - self.mean
        x = x / self.stdev
        if self.affine:
            x = x * self.affine_weight
            x = x + self.affine_bias
        return x

    def _denormalize(self, x):
        if self.affine:
            x = x - self.affine_bias
            x = x / (self.affine_weight + self.eps * self.eps)
        x = x * self.stdev
        x = x + self.mean
        return x
""",
    "the copy keyword of to gives a fresh tensor": """
def rms_norm(x, w, eps=1e-6):
    h = x.to(torch.float32, copy=True)
    h *= torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    return h.to(x.dtype) * w
""",
    "nodes centred over the graph, each of the same length": """
class PairNorm(nn.Module):
    def __init__(self, scale=1.0, eps=1e-5):
        super().__init__()
        self.scale, self.eps = scale, eps

    def forward(self, nodes):
        nodes = nodes - nodes.mean(dim=0, keepdim=True)
        return self.scale * nodes / (self.eps + nodes.norm(2, -1, keepdim=True))
""",
    "a transform that performs a standardisation": """
class Contrast(Transforms):
    def __call__(self, img):
        \"\"\"Performs a change of contrast.\"\"\"
        img = img - img.mean()
        return img / (img.std() + 1e-8)
""",
    "an optimizer's step without its scale": """
class Soap(torch.optim.Optimizer):
    def step(self, closure=None):
        \"\"\"Performs a single step.\"\"\"
        for p in self.params:
            update = p.grad / (1e-30 + torch.mean(p.grad**2) ** 0.5)
            p.add_(update, alpha=-self.lr)
""",
    "a prediction whose level is limited": """
def limited(x0, value):
    level = x0.pow(2).mean(1, keepdim=True).sqrt().clamp(min=value)
    return x0 * (value / level)
""",
    "a recording brought to a level": """
def levelled(x, eps=1e-8):
    x = x.float()
    return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps)
""",
    "series centred and scaled over their steps": """
class Scaled(nn.Module):
    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        return (x - mean) / torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
""",
    "an encoder that is frozen, its output normalized with it": """
class Encoder(nn.Module):
    def __init__(self, model, frozen=True):
        super().__init__()
        self.model, self.frozen = model, frozen

    def forward(self, wav):
        if self.frozen:
            with torch.no_grad():
                return self.features(wav)
        return self.features(wav)

    def features(self, wav):
        out = self.model(wav)
        return F.layer_norm(out, out.shape[-1:])
""",
    "the whole norm without a gradient": """
class Frozen(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            h = x.float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return h.to(x.dtype)
""",
}
