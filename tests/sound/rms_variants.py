"""Sound: rms variants."""

from __future__ import annotations

CASES: dict[str, str] = {
    "an rms norm through normalize and a scale": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale * self.g
""",
    "a lucidrains norm for images with gain of three axes": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5
        self.g = nn.Parameter(torch.ones(1, dim, 1, 1))

    def forward(self, x):
        return F.normalize(x, dim=1) * self.g * self.scale
""",
    "a wan norm with channel_first and images options": """
class WanRMS_norm(nn.Module):
    def __init__(self, dim, channel_first=True, images=True, bias=False):
        super().__init__()
        broadcastable_dims = (1, 1, 1) if not images else (1, 1)
        shape = (dim, *broadcastable_dims) if channel_first else (dim,)

        self.channel_first = channel_first
        self.scale = dim**0.5
        self.gamma = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape)) if bias else 0.0

    def forward(self, x):
        return F.normalize(x, dim=(1 if self.channel_first else -1)) * self.scale * self.gamma + self.bias
""",
    "a norm in a head of several heads": """
class MultiHeadRMSNorm(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.scale = dim ** 0.5
        self.gamma = nn.Parameter(torch.ones(heads, 1, dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.gamma * self.scale
""",
    "a scale norm": """
class ScaleNorm(nn.Module):
    def __init__(self, scale, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale))
        self.eps = eps

    def forward(self, x):
        norm = self.scale / torch.norm(x.float(), dim=-1, keepdim=True).clamp(min=self.eps)
        return (x * norm).type_as(x)
""",
    "a scale norm of x-transformers": """
class ScaleNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(1) * (dim ** 0.5))

    def forward(self, x):
        norm = torch.norm(x, dim=-1, keepdim=True)
        return x / norm.clamp(min=self.eps) * self.g
""",
    "a simple rms norm without a gain": """
class SimpleRMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale
""",
    "an adaptive norm with a gamma from a condition": """
class AdaptiveRMSNorm(nn.Module):
    def __init__(self, dim, dim_condition=None):
        super().__init__()
        self.scale = dim ** 0.5
        dim_condition = dim if dim_condition is None else dim_condition
        self.to_gamma = nn.Linear(dim_condition, dim, bias=False)
        nn.init.zeros_(self.to_gamma.weight)

    def forward(self, x, *, condition):
        if condition.ndim == 2:
            condition = condition.unsqueeze(1)
        normed = F.normalize(x, dim=-1)
        gamma = self.to_gamma(condition)
        return normed * self.scale * (gamma + 1.)
""",
    "an mlx-like function with weight optional": """
def rms_norm(x: Tensor, weight: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    out = x.float()
    out = out * torch.rsqrt(torch.mean(out * out, dim=-1, keepdim=True).add(eps))
    out = out.to(x.dtype)
    return out if weight is None else out * weight
""",
    "a norm with all_reduce over shards": """
import torch
import torch.distributed as dist
from torch import nn

class ParallelRMSNorm(nn.Module):
    def __init__(self, dim, world_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.dim = dim
        self.world_size = world_size
        self.weight = nn.Parameter(torch.ones(dim // world_size))

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        sq = x.pow(2).sum(-1, keepdim=True)
        dist.all_reduce(sq)
        ms = sq / self.dim
        return (x * torch.rsqrt(ms + self.eps)).to(dtype) * self.weight
""",
    "a norm with all_reduce of a mean over ranks": """
import torch
import torch.distributed as dist
from torch import nn

class MiniMaxText01RMSNormTP(nn.Module):
    def __init__(self, hidden_size, tp_world, eps=1e-6):
        super().__init__()
        self.tp_world = tp_world
        self.weight = nn.Parameter(torch.ones(int(hidden_size / tp_world)))
        self.variance_epsilon = eps

    def forward(self, x):
        orig_dtype = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(dim=-1, keepdim=True, dtype=torch.float32)
        if self.tp_world > 1:
            variance = tensor_model_parallel_all_reduce(variance) / self.tp_world
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        return x.to(orig_dtype) * self.weight
""",
    "a norm with the upcast only for half inputs": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        dtype = x.dtype
        if dtype in (torch.float16, torch.bfloat16):
            x = x.float()
        x = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + self.eps)
        return x.to(dtype) * self.weight
""",
    "a norm with a jit script decorator": """
@torch.jit.script
def _rms_norm_fwd(x: torch.Tensor, weight: torch.Tensor, eps: float):
    xf = x.float()
    rstd = torch.rsqrt(xf.pow(2).mean(-1, keepdim=True) + eps)
    return (xf * rstd).to(x.dtype) * weight
""",
    "an autograd function for rms norm": """
class RMSNormFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        xf = x.float()
        rstd = torch.rsqrt(xf.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return (xf * rstd).to(x.dtype) * weight

    @staticmethod
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensors
        xf, dyf = x.float(), dy.float()
        xhat = xf * rstd
        wdy = dyf * weight
        c1 = (xhat * wdy).mean(-1, keepdim=True)
        dx = (wdy - xhat * c1) * rstd
        dw = (dyf * xhat).reshape(-1, x.shape[-1]).sum(0)
        return dx.to(x.dtype), dw.to(weight.dtype), None
""",
    "a zero-centred gain held in a module with a property": """
class ZeroCenteredRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.zeros(dim))

    @property
    def weight(self):
        return 1 + self.w

    def forward(self, x):
        xf = x.float()
        return (xf * torch.rsqrt(xf.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight).type_as(x)
""",
    "a norm written with torch.div and reciprocal": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        f = x.to(dtype=torch.float32)
        rms = torch.sqrt(torch.add(torch.mean(torch.mul(f, f), dim=-1, keepdim=True), self.eps))
        return torch.mul(torch.div(f, rms), self.gain).to(x.dtype)
""",
}
