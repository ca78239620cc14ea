# expect: wrong  codes: NRM104
# why: divides by the length of the sequence
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        f = x.float()
        ms = f.pow(2).sum(dim=-1, keepdim=True) / x.shape[-2]
        return (f * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
