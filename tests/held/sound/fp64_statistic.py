# expect: match
# why: the statistic in double
import torch
from torch import nn


class DoubleNorm(nn.Module):
    def __init__(self, d_model, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        d = x.double()
        d = d / torch.sqrt(torch.mean(d.pow(2), dim=-1, keepdim=True) + self.eps)
        return (d * self.weight.double()).to(x.dtype)
