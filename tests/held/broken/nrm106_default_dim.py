# expect: wrong  codes: NRM106
# why: F.normalize's default is dim 1
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return (F.normalize(x.float()) * self.scale).to(x.dtype) * self.g
