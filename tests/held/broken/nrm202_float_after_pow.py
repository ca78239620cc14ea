# expect: wrong  codes: NRM202
# why: the upcast comes after the square
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        inv = torch.rsqrt(x.pow(2).float().mean(-1, keepdim=True) + self.eps)
        return (x.float() * inv).to(x.dtype) * self.weight
