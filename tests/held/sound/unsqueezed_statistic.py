# expect: match
# why: the axis comes back through indexing with None
import torch
from torch import nn


class Unsqueezed(nn.Module):
    def __init__(self, ndim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(ndim))

    def forward(self, x):
        h = x.float()
        inv = (torch.einsum("...d,...d->...", h, h) / h.size(-1) + self.eps).rsqrt()
        return (h * inv[..., None]).type_as(x) * self.scale
