# expect: wrong  codes: NRM103
# why: dim -2 beside a gain of shape (D,)
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        f = x.float()
        var, mean = torch.var_mean(f, dim=-2, unbiased=False, keepdim=True)
        return ((f - mean) * (var + self.eps).rsqrt() * self.g).to(x.dtype)
