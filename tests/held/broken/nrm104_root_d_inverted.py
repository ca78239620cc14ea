# expect: wrong  codes: NRM104
# why: F.normalize times d ** -0.5 instead of d ** 0.5
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** -0.5
        self.gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return (F.normalize(x.float(), dim=-1) * self.scale).type_as(x) * self.gamma
