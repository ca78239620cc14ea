# expect: wrong  codes: NRM404
# why: the numerator is centred, the mean square isn't
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
        mean = h.mean(-1, keepdim=True)
        var = h.pow(2).mean(-1, keepdim=True)
        return ((h - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias).to(x.dtype)
