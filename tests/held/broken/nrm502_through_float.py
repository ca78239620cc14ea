# expect: wrong  codes: NRM502
# why: .float() of an fp32 tensor is that tensor
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        dtype = x.dtype
        h = x.float()
        h.mul_(torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps))
        return h.to(dtype) * self.weight
