# expect: wrong  codes: NRM403
# why: the square is missing
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
