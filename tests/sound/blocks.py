"""Sound: blocks."""

from __future__ import annotations

CASES: dict[str, str] = {
    "multi-latent attention with compressed norms split off": """
class MLA(nn.Module):
    def __init__(self, dim, kv_rank, rope_dim, eps=1e-6):
        super().__init__()
        self.kv_rank, self.rope_dim, self.eps = kv_rank, rope_dim, eps
        self.kv_a = nn.Linear(dim, kv_rank + rope_dim)
        self.kv_a_weight = nn.Parameter(torch.ones(kv_rank))

    def forward(self, x):
        kv, k_pe = torch.split(self.kv_a(x), [self.kv_rank, self.rope_dim], dim=-1)
        f = kv.float()
        kv = (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)).to(kv.dtype) * self.kv_a_weight
        return torch.cat([kv, k_pe], -1)
""",
    "einops heads with a gain of heads and dims": """
from einops import rearrange
import torch
from torch import nn

class QKNorm(nn.Module):
    def __init__(self, heads, dim, eps=1e-6):
        super().__init__()
        self.heads, self.eps = heads, eps
        self.gamma = nn.Parameter(torch.ones(heads, 1, dim))

    def forward(self, x):
        h = rearrange(x, 'b n (h d) -> b h n d', h=self.heads)
        f = h.float()
        f = f / torch.sqrt(f.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return rearrange(f.to(x.dtype) * self.gamma, 'b h n d -> b n (h d)')
""",
    "flux's qk norm with two norms in a module": """
class RMSNorm(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor):
        x_dtype = x.dtype
        x = x.float()
        rrms = torch.rsqrt(torch.mean(x**2, dim=-1, keepdim=True) + 1e-6)
        return (x * rrms).to(dtype=x_dtype) * self.scale

class QKNorm(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.query_norm = RMSNorm(dim)
        self.key_norm = RMSNorm(dim)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        q = self.query_norm(q)
        k = self.key_norm(k)
        return q.to(v), k.to(v)
""",
    "a norm whose statistic is returned beside the output": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, return_stats=False):
        f = x.float()
        rstd = torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)
        y = (f * rstd).to(x.dtype) * self.weight
        if return_stats:
            return y, rstd
        return y
""",
    "a norm whose output is scaled by a learned temperature": """
class RMSNormTemp(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        f = x.float()
        f = f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)
        return f.to(x.dtype) * self.weight * self.temperature
""",
    "a module that chooses among norms": """
class Norm(nn.Module):
    def __init__(self, dim, kind="rms", eps=1e-5, bias=True):
        super().__init__()
        self.kind, self.eps = kind, eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim)) if bias and kind == "layer" else None

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        if self.kind == "layer":
            x = x - x.mean(-1, keepdim=True)
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
        x = x.to(dtype) * self.weight
        return x if self.bias is None else x + self.bias
""",
    "a norm over heads and dims of the last two axes with a gain of both": """
class HeadNorm(nn.Module):
    def __init__(self, heads, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(heads, dim))

    def forward(self, x):
        f = x.float()
        var = f.pow(2).mean(dim=(-2, -1), keepdim=True)
        return (f * torch.rsqrt(var + self.eps)).to(x.dtype) * self.weight
""",
    "a norm that masks padded tokens afterwards": """
class MaskedRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, mask):
        f = x.float()
        y = (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
        return y.masked_fill(~mask.unsqueeze(-1), 0)
""",
    "a norm over the valid features only": """
class MaskedFeatureNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, mask):
        f = x.float() * mask
        ms = f.pow(2).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True).clamp(min=1)
        return (f * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    "a list of norms applied by index": """
class MultiRMSNorm(nn.Module):
    def __init__(self, dim, n, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(dim)) for _ in range(n)])

    def forward(self, x, i: int):
        f = x.float()
        f = f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)
        return f.to(x.dtype) * self.weights[i]
""",
    "a state machine of norms for experts": """
class ExpertRMSNorm(nn.Module):
    def __init__(self, dim, experts, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(experts, dim))

    def forward(self, x, index):
        f = x.float()
        f = f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)
        return f.to(x.dtype) * self.weight[index]
""",
}
