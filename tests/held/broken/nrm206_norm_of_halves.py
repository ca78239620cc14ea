# expect: precision  codes: NRM206
# why: the L2 norm of halves: overflows where it exceeds 65504
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        rms = x.norm(dim=-1, keepdim=True) * self.dim ** -0.5
        return x / rms.clamp(min=self.eps) * self.weight
