# expect: wrong  codes: NRM104
# why: the mean, divided by the number of features once more
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.d = d
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        f = x.float()
        ms = f.square().mean(-1, keepdim=True) / self.d
        return (f * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.weight
