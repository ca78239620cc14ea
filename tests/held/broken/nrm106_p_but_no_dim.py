# expect: wrong  codes: NRM106
# why: p=2 is given, dim isn't
import math

import torch
from torch import nn
from torch.nn.functional import normalize


class UnitScale(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        unit = normalize(x.float(), p=2, eps=self.eps)
        return (unit * math.sqrt(self.dim)).type_as(x) * self.gamma
