# expect: wrong  codes: NRM105
# why: std with Bessel's correction
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(size))
        self.b_2 = nn.Parameter(torch.zeros(size))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        std = (h.std(-1, keepdim=True) ** 2 + self.eps).sqrt()
        return (self.a_2 * (h - mean) / std + self.b_2).to(x.dtype)
