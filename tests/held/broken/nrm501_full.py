# expect: wrong  codes: NRM501
# why: torch.full, kept as an attribute
import torch
from torch import nn


class ScaleRMS(nn.Module):
    def __init__(self, width, init=1.0, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = torch.full((width,), init)

    def forward(self, x):
        h = x.float()
        inv = (h.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt()
        return (h * inv * self.scale).type_as(x)
