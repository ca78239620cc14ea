# expect: match
# why: fused with the residual: gives the norm of the sum, and the sum
import torch
from torch import nn


class AddNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, x, residual):
        residual = x.float() + residual.float()
        out = residual * torch.rsqrt(residual.pow(2).mean(-1, keepdim=True) + self.eps)
        return out.to(x.dtype) * self.weight, residual.to(x.dtype)
