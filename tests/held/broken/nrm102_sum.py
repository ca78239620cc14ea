# expect: wrong  codes: NRM102
# why: a sum over the last axis, divided, and never unsqueezed
import torch
from torch import nn


class ScaledNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        ms = torch.sum(h ** 2, -1) / self.dim
        return (h * (ms + self.eps) ** -0.5).type_as(x) * self.scale
