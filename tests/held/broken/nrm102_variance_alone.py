# expect: wrong  codes: NRM102
# why: the mean keeps its axis, the variance doesn't
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        h = x.float()
        mu = h.mean(dim=-1, keepdim=True)
        var = h.var(dim=-1, unbiased=False)
        return ((h - mu) / torch.sqrt(var + self.eps) * self.weight + self.bias).to(x.dtype)
