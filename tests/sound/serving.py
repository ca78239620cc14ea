"""Sound: norms of servers, which load their weights, of optimisers, series and graphs."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a gain that a loader fills on each rank": """
import torch
from torch import nn

class HeadRMSNorm(nn.Module):
    def __init__(self, heads, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(heads, dim))
        self.weight.weight_loader = self.load
        self.eps = eps

    def load(self, param, loaded):
        param.data.copy_(loaded)

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (h * self.weight).to(x.dtype)
""",
    "a gain of which only the model knows the values": """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim), requires_grad=False)
        self.eps = eps

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
""",
    "gains that aren't trained, in a layer without gradients": """
import torch
import torch.nn.functional as F
from torch import nn

class Head(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm_weight = nn.Parameter(torch.ones(d), requires_grad=False)
        self.norm_bias = nn.Parameter(torch.zeros(d), False)
        self.query_norm = nn.Parameter(torch.ones(d)).requires_grad_(False)

    def _norm(self, x):
        return F.layer_norm(x, [x.shape[-1]], self.norm_weight, self.norm_bias, 1e-5)

    @torch.inference_mode()
    def forward(self, x):
        return self._norm(x)

    @torch.no_grad()
    def query(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.query_norm
""",
    "a gain that a base outside the text may fill": """
import torch
from torch import nn
from serving.custom_op import CustomOp

class FusedNorm(CustomOp):
    def __init__(self, dim, eps=1e-6, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim, device=device, dtype=dtype))
        self.eps = eps

    def forward_native(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
""",
    "a gain that the project's own Module fills": """
import torch
from torch import nn
from trainer.protocols.module import Module

class OffsetNorm(Module):
    def __init__(self, config):
        super().__init__()
        self.eps = config.eps
        self.weight = nn.Parameter(torch.empty(config.dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return ((1.0 + self.weight.float()) * h).to(x.dtype)
""",
    "a model file that loads its weights": """
import torch
from torch import nn

class Norm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight

class Model(nn.Module):
    def load_weights(self, weights):
        for name, tensor in weights:
            self.get_parameter(name).data.copy_(tensor)
""",
    "a flag says whether one is added to the gain": """
import torch
from torch import nn

class StepRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, zero_centered=False):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps
        self.zero_centered = zero_centered

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        scale = self.weight.float()
        if self.zero_centered:
            scale = scale + 1.0
        return (h * scale).to(x.dtype)
""",
    "an eps of 0 until somebody wants the norm": """
import torch

def mix(y, gates, rms_weight=None, rms_eps: float = 0.0):
    out = torch.sum(gates.unsqueeze(-1) * y.float(), dim=1).to(y.dtype)
    if rms_weight is not None:
        wide = out.float()
        out = (wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + rms_eps) * rms_weight.float()).to(y.dtype)
    return out
""",
    "a scale that is set by a base outside the text": """
import torch.nn.functional as F
from models.wan import WanRMSNorm

class WideRMSNorm(WanRMSNorm):
    def forward(self, x):
        normed = F.normalize(x.float(), dim=1).to(x.dtype)
        return normed * self.scale * self.gamma + self.bias
""",
    "what a test expects of a norm with a scale of its own": """
import torch

def test_the_rms_norm_is_computed_wide(dtype):
    norm = ImageRMSNorm(8).to(dtype)
    x = torch.linspace(-9, 9, 256).reshape(1, 8, 4, 8).to(dtype)
    expected = torch.nn.functional.normalize(x.float(), dim=1).to(dtype) * norm.scale * norm.gamma
    torch.testing.assert_close(norm(x), expected)
""",
    "keys that whoever calls casts back": """
import torch
from torch import nn

class Temper(nn.Module):
    def __init__(self, heads, head_dim):
        super().__init__()
        self.heads = heads
        self.root = head_dim ** 0.5
        self.temp = nn.Parameter(torch.ones(heads))

    def forward(self, q, k):
        k = k.float()
        k = k * (torch.rsqrt(k.pow(2).sum(-1, keepdim=True) + 1e-12) * float(self.root))
        return q, k * self.temp.float().view(1, self.heads, 1)

class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.qk = nn.Linear(dim, 2 * dim)
        self.temper = Temper(heads, dim // heads)

    def forward(self, x):
        q, k = self.temper(*self.qk(x).chunk(2, dim=-1))
        return q @ k.to(q.dtype).mT
""",
    "ScaleNorm with the root of D inside its L2 norm": """
import torch
from torch import nn

class ScaleNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.scale = dim ** -0.5
        self.eps = eps
        self.g = nn.Parameter(torch.ones(1))

    def forward(self, x):
        norm = torch.norm(x, dim=-1, keepdim=True) * self.scale
        return x / norm.clamp(min=self.eps) * self.g
""",
    "RevIN, which keeps what it detaches to undo it": """
import torch
from torch import nn

class SeriesNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x, mode):
        return self.apply(x) if mode == "norm" else self.undo(x)

    def apply(self, x):
        self.mean = x.mean(1, keepdim=True).detach()
        self.stdev = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + self.eps).detach()
        return ((x - self.mean) / self.stdev).to(x.dtype) * self.weight + self.bias

    def undo(self, x):
        return (x - self.bias) / self.weight * self.stdev + self.mean
""",
    "rows and columns of a matrix in turn": """
import torch

def sinkhorn_update(p, grad, lr, iters, eps):
    rows, columns = grad.shape[-2], grad.shape[-1]
    x = grad
    for _ in range(iters):
        rn = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        x = x * (columns**0.5 / rn.clamp_min(eps)).to(x.dtype)
        cn = torch.linalg.vector_norm(x, dim=-2, keepdim=True, dtype=torch.float32)
        x = x * (rows**0.5 / cn.clamp_min(eps)).to(x.dtype)
    d = rows**0.5 / cn.clamp_min(eps) if iters else torch.ones_like(x)
    p.add_(x * d, alpha=-lr)
""",
    "features of a spectrogram over its frames": """
import torch

def apply_mv_norm(features):
    if len(features.size()) != 2:
        raise ValueError("a matrix is wanted")
    mean = features.mean(0)
    inv = 1.0 / torch.sqrt(features.var(0))
    return (features - mean) * inv
""",
    "all nodes of a graph": """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, channels, eps=1e-5, mode="graph"):
        super().__init__()
        self.eps = eps
        self.mode = mode
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x, batch=None):
        if self.mode == "graph" and batch is None:
            x = x - x.mean()
            x = x / (x.std(unbiased=False) + self.eps)
        elif self.mode == "graph":
            x = scatter_norm(x, batch, self.eps)
        return x * self.weight + self.bias
""",
}
