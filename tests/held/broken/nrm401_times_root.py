# expect: wrong  codes: NRM401
# why: x * sqrt
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
        h = h - h.mean(-1, keepdim=True)
        sigma = torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * sigma * self.weight + self.bias).to(x.dtype)
