# expect: wrong  codes: NRM102
# why: the reduced axis is gone, and the statistic meets the wrong one
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, n_embd, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(n_embd))

    def forward(self, x):
        f = x.float()
        inv = torch.rsqrt(f.square().mean(-1) + self.eps)
        return (f * inv).to(x.dtype) * self.weight
