# expect: match
# why: a floor under the root instead of a sum
import torch
from torch import nn


class FlooredRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * ms.clamp_min(self.eps).rsqrt()).to(x.dtype) * self.weight
