# expect: wrong  codes: NRM405
# why: the statistic under no_grad
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        with torch.no_grad():
            ms = h.square().mean(dim=-1, keepdim=True)
        return (h * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.weight
