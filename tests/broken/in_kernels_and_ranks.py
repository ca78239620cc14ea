"""Broken: in kernels and ranks."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "an einops norm without an upcast": (
        ("NRM201",),
        """
import torch
from einops import rearrange, reduce
from torch import nn


class ChanRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        inv = (reduce(x**2, "b c h w -> b 1 h w", "mean") + self.eps) ** -0.5
        return x * inv * rearrange(self.g, "c -> 1 c 1 1")
""",
    ),
    "a tensor-parallel norm that never divides": (
        ("NRM104",),
        """
import torch
import torch.distributed as dist
from torch import nn


class ParallelRMSNorm(nn.Module):
    def __init__(self, hidden_size, world_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size // world_size))

    def forward(self, x):
        h = x.to(torch.float32)
        square_sum = h.pow(2).sum(dim=-1, keepdim=True)
        dist.all_reduce(square_sum)
        return (h * torch.rsqrt(square_sum + self.eps)).to(x.dtype) * self.weight
""",
    ),
    "a vllm norm that scales its fp32 input in place": (
        ("NRM502",),
        """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    @torch.compile
    def rms_forward(self, x):
        orig_dtype = x.dtype
        x = x.float()
        var = x.pow(2).mean(dim=-1, keepdim=True)
        x.mul_(torch.rsqrt(var + self.eps))
        x = x.to(orig_dtype).mul_(self.weight)
        return x

    def forward(self, x):
        return self.rms_forward(x)
""",
    ),
    "a function whose eps is another's": (
        ("NRM304",),
        """
EPS = 1e-6


def rms_norm(x, weight, eps=1e-5):
    h = x.float()
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + EPS)
    return h.to(x.dtype) * weight
""",
    ),
    "a gain set as a plain tensor": (
        ("NRM501",),
        """
class RMSNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.eps = config.rms_norm_eps
        self.scale = torch.ones(config.hidden_size, requires_grad=True)

    def forward(self, hidden):
        h = hidden.to(torch.float32)
        h = h * torch.rsqrt(h.square().mean(dim=-1, keepdim=True) + self.eps)
        return (self.scale * h).to(hidden.dtype)
""",
    ),
    "a bias that is never added to a centred product": (
        ("NRM505",),
        """
class LayerNorm(nn.Module):
    def __init__(self, ndim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (self.weight * h).to(x.dtype)
""",
    ),
    "layer norm from two moments gathered over ranks": (
        ("NRM204",),
        """
import torch
import torch.distributed as dist
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        mean_sq = h.square().mean(-1, keepdim=True)
        var = mean_sq - mean.square()
        return ((h - mean) * torch.rsqrt(var + self.eps)).to(x.dtype) * self.weight
""",
    ),
    "an rms norm of absolute values": (
        ("NRM403",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        scale = torch.rsqrt(h.abs().mean(-1, keepdim=True) + self.eps)
        return (h * scale).to(x.dtype) * self.weight
""",
    ),
    "a gain of a single element": (
        ("NRM504",),
        """
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.Tensor([d_model]))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.gamma
""",
    ),
    "a hard-coded half before the product": (
        ("NRM205",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        inv = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * inv).half() * self.weight
""",
    ),
    "gemma's static forward without fp32": (
        ("NRM201",),
        """
class GemmaRMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(hidden_size))
        self.variance_epsilon = eps

    @staticmethod
    def forward_static(weight, variance_epsilon, x, residual):
        if residual is not None:
            x = x + residual
            residual = x
        variance = x.pow(2).mean(dim=-1, keepdim=True)
        x = x * torch.rsqrt(variance + variance_epsilon)
        x = x * (1.0 + weight)
        return x if residual is None else (x, residual)

    def forward_native(self, x, residual=None):
        return self.forward_static(self.weight.data, self.variance_epsilon, x, residual)
""",
    ),
    "a retnet group norm without eps": (
        ("NRM301",),
        """
class MultiScaleRetention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.g_proj = nn.Linear(dim, dim)
        self.group_gain = nn.Parameter(torch.ones(heads, dim // heads))

    def _group_norm(self, y):
        y32 = y.float()
        return (y32 / torch.sqrt(torch.mean(torch.square(y32), dim=-1, keepdim=True))).to(y.dtype) * self.group_gain

    def forward(self, x, retention):
        b, n, d = x.shape
        y = self._group_norm(retention.view(b, n, self.heads, d // self.heads))
        return F.silu(self.g_proj(x)) * y.reshape(b, n, d)
""",
    ),
    "an autograd function in the input's dtype": (
        ("NRM201",),
        """
class RMSNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        rstd = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight
""",
    ),
    "a peri-ln block with eps beside the root": (
        ("NRM302",),
        """
def rms(x, gain, eps=1e-5):
    h = x.to(torch.float32)
    root = h.pow(2).mean(dim=-1, keepdim=True) ** 0.5
    return h.div(root.add(eps)).to(x.dtype) * gain


class PeriBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pre, self.post = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.ones(dim))
        self.ffn = nn.Linear(dim, dim)

    def forward(self, x):
        return x + rms(self.ffn(rms(x, self.pre)), self.post)
""",
    ),
    "a deepseek-like norm that divides twice": (
        ("NRM104",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim = dim
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        ms = h.square().mean(-1, keepdim=True) / self.dim
        return (h * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.weight
""",
    ),
    "the sub-norm of a keras-like torch port over axis 0": (
        ("NRM103",),
        """
class LayerNormalization(nn.Module):
    def __init__(self, features, epsilon=1e-3):
        super().__init__()
        self.axis = 0
        self.epsilon = epsilon
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))

    def forward(self, inputs):
        x = inputs.float()
        mean = torch.mean(x, axis=self.axis, keepdims=True)
        variance = torch.mean((x - mean) ** 2, axis=self.axis, keepdims=True)
        x = (x - mean) * torch.rsqrt(variance + self.epsilon)
        return x.to(inputs.dtype) * self.gamma + self.beta
""",
    ),
}
