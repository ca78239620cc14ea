# expect: wrong  codes: NRM404
# why: the variance is centred, the numerator isn't
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        var = h.var(-1, keepdim=True, unbiased=False)
        return (h * torch.rsqrt(var + self.eps) * self.weight + self.bias).to(x.dtype)
