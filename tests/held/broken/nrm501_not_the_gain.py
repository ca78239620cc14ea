# expect: wrong  codes: NRM501
# why: a plain tensor in the product stays where it was made when the module moves
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.unit = torch.tensor([1.0])

    def forward(self, x):
        h = x.float()
        h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
        return h * self.weight * self.unit.to(x.dtype)
