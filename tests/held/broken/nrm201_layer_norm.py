# expect: wrong  codes: NRM201
# why: the deviations are squared in half precision
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        u = x - x.mean(-1, keepdim=True)
        s = (u * u).mean(-1, keepdim=True)
        return u / torch.sqrt(s + self.eps) * self.weight + self.bias
