# expect: match
# why: gain in fp32, one cast at the very end
import torch
from torch import nn


class FullPrecisionGain(nn.Module):
    def __init__(self, size, eps=1e-5, device=None, dtype=None):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size, device=device, dtype=dtype))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        inv_rms = x.pow(2).mean(-1, keepdim=True).add(self.eps).rsqrt()
        return x.mul(inv_rms).mul(self.weight.to(torch.float32)).to(in_dtype)
