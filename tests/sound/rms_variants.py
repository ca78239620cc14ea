"""Sound: rms variants."""

from __future__ import annotations

CASES: dict[str, str] = {
    "rows scaled in fp32 by a helper of some mathematics, which takes neither gain nor eps": """
def normalize_rows_rms(features):
    scale = features.float().square().mean(dim=2, keepdim=True).sqrt().clamp_min(1e-6)
    return features.float() / scale
""",
    "an L2 norm that an argument's word asks for": """
def rms_norm(x, mode="rms", eps=1e-6):
    h = x.float()
    if mode == "l2":
        return F.normalize(h, dim=-1, eps=eps).to(x.dtype)
    return (h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + eps)).to(x.dtype)
""",
    "a norm by the mean absolute deviation": """
class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        h = x.float()
        c = h - h.mean(-1, keepdim=True)
        return (c / (c.abs().mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
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
    "a length with one gain for all in a class of another name": """
class Stage(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.factor = dim ** -0.5
        self.eps = eps
        self.g = nn.Parameter(torch.ones(1))

    def forward(self, x):
        length = torch.norm(x.float(), dim=-1, keepdim=True) * self.factor
        return (x / length.clamp(min=self.eps)).type_as(x) * self.g
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
    "crms norm": """
class CRMSNorm(nn.Module):
    '''x has D - 1 features; the last is minus the sum of the others.'''

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim = dim
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim - 1))

    def forward(self, x):
        h = x.float()
        last = h.sum(-1, keepdim=True)
        ms = (h.square().sum(-1, keepdim=True) + last.square()) / self.dim
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    "layer norm lstm cell": """
class LNCell(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.ih, self.hh = nn.Linear(i, 4 * h, bias=False), nn.Linear(h, 4 * h, bias=False)
        self.g = nn.Parameter(torch.ones(2, 4 * h))
        self.b = nn.Parameter(torch.zeros(4 * h))

    @staticmethod
    def ln(x):
        x = x.float()
        mu = x.mean(-1, keepdim=True)
        d = x - mu
        return d * torch.rsqrt(d.square().mean(-1, keepdim=True) + 1e-5)

    def forward(self, x, state):
        h, c = state
        z = self.ln(self.ih(x)) * self.g[0] + self.ln(self.hh(h)) * self.g[1] + self.b
        i, f, g, o = z.to(x.dtype).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
""",
    "bitlinear with its own norm": """
class BitLinear(nn.Linear):
    def forward(self, x):
        x32 = x.float()
        x_norm = (x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)
        s = 127.0 / x_norm.abs().max(dim=-1, keepdim=True).values.clamp_(min=1e-5)
        xq = x_norm + ((x_norm * s).round().clamp_(-128, 127) / s - x_norm).detach()
        ws = 1.0 / self.weight.abs().mean().clamp_(min=1e-5)
        wq = self.weight + ((self.weight * ws).round().clamp_(-1, 1) / ws - self.weight).detach()
        return F.linear(xq, wq, self.bias)
""",
    "a norm on complex numbers": """
class ComplexRMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, z):
        ms = (z.real.square() + z.imag.square()).mean(-1, keepdim=True)
        return z * torch.rsqrt(ms + self.eps) * self.w
""",
    "an rms norm whose name says layer and whose bias is a plain addition": """
class LayerNormNoCenter(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d))
        self.offset = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        h = h / (h.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
        return h.type_as(x) * self.scale + self.offset
""",
    "layer norm with no bias and fp32 gain": """
class FP32LN(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        with torch.autocast("cuda", enabled=False):
            y = F.layer_norm(x.float(), (x.shape[-1],), self.weight.float(), None, 1e-5)
        return y.to(x)
""",
    "rms norm with the gain stored as log": """
class LogGain(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.log_gain = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6) * self.log_gain.exp()).type_as(x)
""",
    "rms norm with softplus gain": """
class SoftplusGain(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.raw = nn.Parameter(torch.full((d,), math.log(math.e - 1)))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6)
        return h.type_as(x) * F.softplus(self.raw)
""",
    "rms norm that subtracts a learned running centre": """
class OffsetRMS(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.mu = nn.Parameter(torch.zeros(d))
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        h = (x - self.mu).float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "rms norm in two passes over halves of the features": """
def rms_two(x, w, eps=1e-6):
    a, b = x.float().chunk(2, -1)
    ss = a.square().sum(-1, keepdim=True) + b.square().sum(-1, keepdim=True)
    r = torch.rsqrt(ss / x.shape[-1] + eps)
    return (torch.cat([a * r, b * r], -1)).type_as(x) * w
""",
    "rms norm with an input scaled against overflow": """
def safe_rms(x, w, eps=1e-6):
    m = x.abs().amax(-1, keepdim=True).clamp(min=1e-4)
    s = x / m
    return s * torch.rsqrt(s.pow(2).mean(-1, keepdim=True) + eps) * w
""",
    "normalise for fp8 with amax history": """
class FP8Scale(nn.Module):
    def __init__(self, n=16):
        super().__init__()
        self.register_buffer("amax", torch.zeros(n))

    def forward(self, x):
        self.amax = torch.roll(self.amax, 1)
        self.amax[0] = x.abs().max()
        s = 448.0 / self.amax.max().clamp(min=1e-12)
        return (x * s).clamp(-448, 448), s
""",
    "per-token group scaled by rms for kv cache": """
def kv_scale(k, g):
    b, h, n, d = k.shape
    kk = k.view(b, h, n, d // g, g).float()
    s = kk.abs().amax(-1, keepdim=True) / 7
    return (kk / s.clamp(min=1e-6)).round(), s
""",
    "gated rms in a linear attention head": """
class FusedGate(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, o, g):
        o32 = o.float()
        o32 = o32 * torch.rsqrt(o32.square().mean(-1, keepdim=True) + self.eps) * self.weight.float()
        return (o32 * F.silu(g.float())).to(o.dtype)
""",
    "sub-ln with groups of heads": """
class HeadsNorm(nn.Module):
    def __init__(self, h, d, eps=1e-5):
        super().__init__()
        self.h, self.eps = h, eps
        self.weight = nn.Parameter(torch.ones(h * d))

    def forward(self, x):
        b, n, c = x.shape
        y = x.view(b, n, self.h, -1).float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)
        return (y.view(b, n, c) * self.weight).to(x.dtype)
""",
}
