# expect: match
# why: each head is normalised on its own: grouped reshape, statistic, and back
import torch
from torch import nn


class HeadwiseNorm(nn.Module):
    def __init__(self, dim, num_heads, eps=1e-6):
        super().__init__()
        self.num_heads = num_heads
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        shape = x.shape
        h = x.float().reshape(*shape[:-1], self.num_heads, shape[-1] // self.num_heads)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.reshape(shape).to(x.dtype) * self.weight
