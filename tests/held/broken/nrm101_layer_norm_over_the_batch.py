# expect: wrong  codes: NRM101
# why: mean and variance of the whole tensor
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        mean = h.mean()
        var = ((h - mean) ** 2).mean()
        return (self.gamma * (h - mean) / torch.sqrt(var + self.eps) + self.beta).to(x.dtype)
