# expect: match
# why: F.rms_norm where torch has it, the same by hand where it hasn't
import torch
import torch.nn.functional as F
from torch import nn


class PortableRMSNorm(nn.Module):
    def __init__(self, hidden_dim, eps=1e-6):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_dim))

    def _native(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight

    def forward(self, x):
        if hasattr(F, "rms_norm"):
            return F.rms_norm(x, (self.hidden_dim,), self.weight, self.eps)
        return self._native(x)
