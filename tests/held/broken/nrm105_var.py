# expect: wrong  codes: NRM105
# why: var's default is unbiased
import torch
from torch import nn


class CustomLayerNorm(nn.Module):
    def __init__(self, hidden, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden))
        self.bias = nn.Parameter(torch.zeros(hidden))

    def forward(self, t):
        h = t.float()
        out = (h - h.mean(-1, True)) * torch.rsqrt(torch.var(h, -1, keepdim=True) + self.eps)
        return (out * self.weight.float() + self.bias.float()).to(t.dtype)
