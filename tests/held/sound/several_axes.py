# expect: match
# why: normalised over as many trailing axes as normalized_shape has
import numbers

import torch
from torch import nn


class ShapeNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5):
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.normalized_shape))
        self.bias = nn.Parameter(torch.zeros(self.normalized_shape))

    def forward(self, x):
        dims = tuple(range(-len(self.normalized_shape), 0))
        h = x.float()
        mean = h.mean(dim=dims, keepdim=True)
        var = (h - mean).square().mean(dim=dims, keepdim=True)
        h = (h - mean) / torch.sqrt(var + self.eps)
        return (h * self.weight.float() + self.bias.float()).to(x.dtype)
