# expect: match
# why: counts its calls and keeps the last statistic, for a dashboard
import torch
from torch import nn


class ObservedNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.calls = 0
        self.last = None

    def forward(self, x):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        self.calls += 1
        self.last = ms.detach()
        return (h * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.weight
