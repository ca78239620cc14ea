# expect: precision  codes: NRM207
# why: the sum of weight and 1 is cast, and not the weight
import torch
from torch import nn


class LayerNorm1P(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)
        return (h * (self.weight + 1.0).float() + self.bias.float()).to(x.dtype)
