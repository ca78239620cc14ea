# expect: wrong  codes: NRM204
# why: E[x^2] - E[x]^2 cancels
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        m1 = h.mean(-1, keepdim=True)
        m2 = (h ** 2).mean(-1, keepdim=True)
        return ((h - m1) * torch.rsqrt(m2 - m1 ** 2 + self.eps) * self.weight + self.bias).to(x.dtype)
