# expect: skipped  codes: NRM201
# why: a key norm in an attention, in the keys' own dtype
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.to_kv = nn.Linear(dim, 2 * dim)
        self.k_scale = nn.Parameter(torch.ones(dim // heads))

    def forward(self, x):
        b, n, d = x.shape
        k, v = self.to_kv(x).chunk(2, dim=-1)
        k = k.view(b, n, self.heads, d // self.heads)
        k = k * torch.rsqrt(k.square().mean(-1, keepdim=True) + 1e-6) * self.k_scale
        return (k * v.view_as(k)).reshape(b, n, d)
