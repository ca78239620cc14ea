# expect: match
# why: for (rows, features) alone, so that dim 1 is the last
import torch
from torch import nn


class MatrixNorm(nn.Module):
    """Normalises the rows of a matrix."""

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
