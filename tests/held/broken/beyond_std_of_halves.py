# expect: precision  codes: none
# why: the deviation is rounded to a half, and scales its row by as much
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        sigma = x.std(-1, keepdim=True, unbiased=False).clamp_min(self.eps)
        return (x - x.mean(-1, keepdim=True)) / sigma * self.weight + self.bias
