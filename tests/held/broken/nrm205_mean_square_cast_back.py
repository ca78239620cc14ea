# expect: wrong  codes: NRM205
# why: the mean square goes to half, where it can overflow, before the root
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        ms = x.float().square().mean(-1, keepdim=True).type_as(x)
        return x * torch.rsqrt(ms + self.eps) * self.weight
