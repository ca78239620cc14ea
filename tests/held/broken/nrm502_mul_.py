# expect: wrong  codes: NRM502
# why: multiplies the caller's tensor
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        inv = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        x.mul_(inv)
        return x * self.weight
