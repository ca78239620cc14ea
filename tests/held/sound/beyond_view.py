# expect: match
# why: a view of an input that isn't contiguous raises, and whoever passes one hears of it
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float().view(-1, self.dim)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.view(x.shape).to(x.dtype) * self.weight
