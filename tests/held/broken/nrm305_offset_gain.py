# expect: precision  codes: NRM305 NRM206
# why: the same, with 1 + w
import torch
import torch.nn.functional as F
from torch import nn


class NormalizeRMS(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5
        self.gamma = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return F.normalize(x, p=2, dim=-1) * self.scale * (self.gamma + 1)
