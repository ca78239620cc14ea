# expect: wrong  codes: NRM104
# why: x over its L2 norm in a module named RMSNorm, with a gain
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        f = x.float()
        length = torch.linalg.norm(f, dim=-1, keepdim=True)
        return (f / (length + self.eps)).to(x.dtype) * self.scale
