# report: lucidrains/x-transformers#246
# codes: NRM104|NRM406
# why: beside an L2 norm, ScaleNorm's gain starts at dim ** -0.5 where dim ** 0.5 belongs
# run: ScaleNorm(24)
# reference: rms(x, 0.0)
# shows: values
import torch
from torch import nn, einsum


def exists(val):
    return val is not None


class ScaleNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(1) * (dim ** -0.5))

    def forward(self, x):
        norm = torch.norm(x, dim=-1, keepdim=True)
        return x / norm.clamp(min=self.eps) * self.g


class Attention(nn.Module):
    def __init__(self, dim, dim_head=64, heads=8, pre_norm=True):
        super().__init__()
        self.scale = dim_head ** -0.5
        self.heads = heads
        inner_dim = dim_head * heads
        self.norm = ScaleNorm(dim) if pre_norm else None
        self.to_qkv = nn.Linear(dim, inner_dim * 3, bias=False)
        self.to_out = nn.Linear(inner_dim, dim)

    def forward(self, x):
        if exists(self.norm):
            x = self.norm(x)
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        sim = einsum('b h i d, b h j d -> b h i j', q, k) * self.scale
        out = einsum('b h i j, b h j d -> b h i d', sim.softmax(dim=-1), v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))
