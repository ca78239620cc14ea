# expect: match
# why: the mean through einops.reduce
import torch
from einops import reduce
from torch import nn


class EinopsNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        power = reduce(h ** 2, "... d -> ... 1", "mean")
        return (h * (power + self.eps).rsqrt()).to(x.dtype) * self.weight
