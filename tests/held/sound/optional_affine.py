# expect: match
# why: with a flag for the gain, as torch's own modules have it
import torch
from torch import nn


class SimpleRMSNorm(nn.Module):
    __constants__ = ["eps", "elementwise_affine"]

    def __init__(self, dim, eps=1e-6, elementwise_affine=True):
        super().__init__()
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(dim))
        else:
            self.register_parameter("weight", None)

    @staticmethod
    def _norm(x, eps):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

    def forward(self, x):
        out = self._norm(x.float(), self.eps).type_as(x)
        return out if self.weight is None else out * self.weight

    def extra_repr(self):
        return f"eps={self.eps}, elementwise_affine={self.elementwise_affine}"
