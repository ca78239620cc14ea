# expect: wrong  codes: NRM101
# why: mean() without a dim: one scale for the whole batch
import torch
from torch import nn


class TokenNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        f = x.float()
        scale = f.pow(2).mean().add(self.eps).rsqrt()
        return (f * scale).type_as(x) * self.weight
