# expect: wrong  codes: NRM303
# why: an eps of 0.1 shrinks ordinary rows
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-1):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
