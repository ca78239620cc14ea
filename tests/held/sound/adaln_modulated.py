# expect: match
# why: a layer norm without its own gain; scale and shift come from the condition
import torch
from torch import nn


def modulate(x, shift, scale):
    return x * (1 + scale) + shift


class AdaLayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x, shift, scale):
        h = x.float()
        centred = h - h.mean(-1, keepdim=True)
        h = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + self.eps)
        return modulate(h, shift.float(), scale.float()).to(x.dtype)
