# expect: wrong  codes: NRM301
# why: a constant row gives NaN
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        return (h / h.square().mean(-1, keepdim=True).sqrt()).to(x.dtype) * self.gamma + self.beta
