# expect: match
# why: an autocast context that is switched off, and the cast by hand
import torch
from torch import nn


class NoAutocastNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        with torch.autocast(device_type=x.device.type, enabled=False):
            x32 = x.float()
            y = x32 * torch.rsqrt(x32.pow(2).mean(dim=-1, keepdim=True) + self.eps)
            y = y.to(dtype=x.dtype)
        return self.weight * y
