# expect: wrong  codes: NRM205
# why: a hard-coded bfloat16, whatever comes in
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        inv = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps).to(torch.bfloat16)
        return (h * inv).to(x.dtype) * self.weight
