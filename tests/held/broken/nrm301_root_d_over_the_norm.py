# expect: wrong  codes: NRM301
# why: divides by the L2 norm as it is
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.root = dim ** 0.5
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (self.root * h / h.norm(dim=-1, keepdim=True)).to(x.dtype) * self.weight
