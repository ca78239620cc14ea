# expect: wrong  codes: none
# why: the product with the gain is computed and thrown away
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        out = (h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
        out * self.scale
        return out
