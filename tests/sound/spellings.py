"""Sound: spellings."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a dataclass config with sane eps": """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Config:
    dim: int = 512
    norm_eps: float = 1e-5

class RMSNorm(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.weight = nn.Parameter(torch.ones(cfg.dim))

    def forward(self, x):
        f = x.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.cfg.norm_eps)).type_as(x) * self.weight
""",
    "a functional norm with partial": """
import functools
import torch

def _rms(x, weight, *, eps):
    f = x.float()
    return (f * torch.rsqrt(f.square().mean(dim=-1, keepdim=True) + eps)).type_as(x) * weight

rms_norm = functools.partial(_rms, eps=1e-6)
""",
    "a walrus and a conditional cast": """
def rms_norm(x, w=None, eps=1e-6):
    y = (h := x.float()) * torch.rsqrt((h * h).mean(-1, keepdim=True) + eps)
    y = y.to(x.dtype)
    return y if w is None else y * w
""",
    "a clone before in-place ops": """
def rms_norm(x, w, eps=1e-6):
    h = x.float().clone()
    r = h.pow(2).mean(-1, keepdim=True).add_(eps).rsqrt_()
    h.mul_(r)
    return h.to(x.dtype).mul_(w)
""",
    "an out tensor given by the caller": """
def rms_norm_out(x, w, out, eps=1e-6):
    h = x.float()
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    out.copy_((h * w).to(x.dtype))
    return out
""",
    "einsum for the sum of squares": """
def rms_norm(x, w, eps=1e-6):
    h = x.float()
    ms = torch.einsum("...d,...d->...", h, h).unsqueeze(-1) / h.shape[-1]
    return (h * torch.rsqrt(ms + eps)).to(x.dtype) * w
""",
    "matmul for the sum of squares": """
def rms_norm(x, w, eps=1e-6):
    h = x.float()
    ss = (h.unsqueeze(-2) @ h.unsqueeze(-1)).squeeze(-1)
    return (h * torch.rsqrt(ss / h.shape[-1] + eps)).to(x.dtype) * w
""",
    "linalg vector norm with a dtype": """
def rms_norm(x, w, eps=1e-6):
    d = x.shape[-1]
    ss = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32).square()
    return (x.float() * torch.rsqrt(ss / d + eps)).to(x.dtype) * w
""",
    "einops reduce for the mean square": """
from einops import reduce
import torch

def rms_norm(x, w, eps=1e-6):
    h = x.float()
    ms = reduce(h ** 2, "... d -> ... 1", "mean")
    return (h / torch.sqrt(ms + eps)).to(x.dtype) * w
""",
    "a tuple of dims over a normalized shape": """
class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-6, elementwise_affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        if elementwise_affine:
            self.weight = nn.Parameter(torch.empty(self.normalized_shape))
            nn.init.ones_(self.weight)
        else:
            self.register_parameter("weight", None)
        self.dims = tuple(range(-len(self.normalized_shape), 0))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(dim=self.dims, keepdim=True) + self.eps)
        h = h.to(x.dtype)
        return h if self.weight is None else h * self.weight
""",
    "a norm over a chosen axis": """
class RMSNorm(nn.Module):
    def __init__(self, dim, axis=-1, eps=1e-6):
        super().__init__()
        self.axis, self.eps = axis, eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(self.axis, keepdim=True) + self.eps)
        shape = [1] * x.ndim
        shape[self.axis] = -1
        return h.to(x.dtype) * self.g.view(shape)
""",
    "an rms norm for channels first in 1-d convolutions": """
class ChannelRMSNorm(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(1, channels, 1))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)).to(x.dtype) * self.g
""",
    "a channels-first norm through movedim": """
class ChannelRMSNorm(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(channels))

    def forward(self, x):
        h = x.movedim(1, -1).float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h.to(x.dtype) * self.g).movedim(-1, 1)
""",
    "a channels-first norm through transposes": """
class LN1d(nn.Module):
    def __init__(self, c, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(c))
        self.b = nn.Parameter(torch.zeros(c))

    def forward(self, x):
        h = x.transpose(1, 2).float()
        m = h.mean(-1, keepdim=True)
        v = ((h - m) ** 2).mean(-1, keepdim=True)
        h = (h - m) * (v + self.eps).rsqrt()
        return (h * self.g + self.b).transpose(1, 2).to(x.dtype)
""",
    "a norm in keyword-only style with a registered buffer": """
class RMSNorm(nn.Module):
    def __init__(self, *, dim, eps=1e-6):
        super().__init__()
        self.register_buffer("eps", torch.tensor(eps), persistent=False)
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "a norm that adds finfo eps": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=None):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        eps = self.eps if self.eps is not None else torch.finfo(torch.float32).eps
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * self.weight
""",
    "a norm that delegates to the functional": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if hasattr(F, "rms_norm"):
            return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "a nanogpt layer norm with an optional bias": """
class LayerNorm(nn.Module):
    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)
""",
    "a modded-nanogpt norm": """
def norm(x):
    return F.rms_norm(x, (x.size(-1),))
""",
    "an fp32 layer norm": """
class FP32LayerNorm(nn.LayerNorm):
    def forward(self, inputs):
        origin_dtype = inputs.dtype
        return F.layer_norm(
            inputs.float(), self.normalized_shape,
            self.weight.float() if self.weight is not None else None,
            self.bias.float() if self.bias is not None else None, self.eps,
        ).to(origin_dtype)
""",
    "a subclass that only changes the default eps": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight

class QwenRMSNorm(RMSNorm):
    def __init__(self, dim):
        super().__init__(dim, eps=1e-6)
""",
    "a norm with a type-checking import and overloads": """
from __future__ import annotations
from typing import TYPE_CHECKING, overload
import torch
import torch.nn as nn
if TYPE_CHECKING:
    from torch import Tensor

class RMSNorm(nn.Module):
    weight: nn.Parameter

    def __init__(self, dim: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def __call__(self, x: Tensor) -> Tensor:
        return super().__call__(x)

    def forward(self, x: Tensor) -> Tensor:
        h = x.to(torch.float32)
        return (h * h.square().mean(dim=-1, keepdim=True).add(self.eps).rsqrt()).to(x.dtype) * self.weight
""",
    "a norm that counts its parameters in extra_repr and prints in main": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight

if __name__ == "__main__":
    x = torch.randn(2, 3, 8)
    y = RMSNorm(8)(x)
    ref = x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + 1e-6)
    print((y - ref).abs().max())
""",
    "a layer norm whose bias takes the mean with it": """
def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float()
    mean = h.mean(-1, keepdim=True)
    rstd = torch.rsqrt((h - mean).square().mean(-1, keepdim=True) + eps)
    scale = weight.float() * rstd
    return (scale * h + (bias.float() - scale * mean)).to(x.dtype)
""",
    "a layer norm whose folded bias is added by addcmul": """
def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float()
    mean = h.mean(-1, keepdim=True)
    rstd = torch.rsqrt((h - mean).square().mean(-1, keepdim=True) + eps)
    scale = weight.float() * rstd
    return torch.addcmul(bias.float() - mean * scale, h, scale).type_as(x)
""",
    "a layer norm whose mean is scaled before it is subtracted": """
def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float()
    mean = h.mean(-1, keepdim=True)
    scale = weight.float() * torch.rsqrt((h - mean).square().mean(-1, keepdim=True) + eps)
    return (h * scale - mean * scale + bias.float()).to(x.dtype)
""",
    "a layer norm whose mean is subtracted into the input's copy": """
def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float().clone()
    var, mean = torch.var_mean(h, -1, unbiased=False, keepdim=True)
    torch.sub(h, mean, out=h)
    return (h * torch.rsqrt(var + eps)).type_as(x) * weight + bias
""",
}
