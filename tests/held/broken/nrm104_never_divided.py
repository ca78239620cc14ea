# expect: wrong  codes: NRM104
# why: a sum where the mean belongs: every output is sqrt(D) too small
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        f = x.float()
        return (f * torch.rsqrt(f.pow(2).sum(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
