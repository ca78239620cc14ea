# expect: match
# why: the gate multiplies the input, and a gate is required
import torch
import torch.nn.functional as F
from torch import nn


class SSMNorm(nn.Module):
    def __init__(self, d_inner, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_inner))

    def forward(self, y, z):
        y_gated = y.float() * F.silu(z.float())
        rms = torch.rsqrt(y_gated.pow(2).mean(-1, keepdim=True) + self.eps)
        return (y_gated * rms * self.weight.float()).to(y.dtype)
