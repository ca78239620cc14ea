# expect: match
# why: F.normalize gives x / ||x||, times sqrt(d) that is x / rms
import torch
import torch.nn.functional as F
from torch import nn


class SqrtDNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5
        self.gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        unit = F.normalize(x.float(), dim=-1)
        return (unit * self.scale).to(x.dtype) * self.gamma
