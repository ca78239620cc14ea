# expect: wrong  codes: NRM303
# why: an eps of zero keeps nothing from zero
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=0.0):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
