# expect: wrong  codes: NRM304
# why: stored as variance_epsilon, read nowhere
import torch
from torch import nn

EPS = 1e-6


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=EPS):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, x):
        h = x.float()
        return self.weight * (h / (h.pow(2).mean(-1, keepdim=True) + EPS).sqrt()).to(x.dtype)
