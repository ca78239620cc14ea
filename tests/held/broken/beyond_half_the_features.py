# expect: wrong  codes: none
# why: the constant 0.5 halves the mean square
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        ms = 0.5 * h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.weight
