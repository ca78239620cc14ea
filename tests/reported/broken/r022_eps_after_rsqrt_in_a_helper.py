# report: public source (entry 22)
# codes: NRM302
# why: the helper gives rsqrt(ms) + eps
# run: NormLayer(24)
# reference: rms(x, 1e-6)
# shows: zeros
import torch
from torch import nn


def _inverse_rms(t: torch.Tensor, eps: float) -> torch.Tensor:
    return torch.rsqrt(torch.mean(t * t, -1, keepdim=True)) + eps


class NormLayer(nn.Module):
    eps = 1e-6

    def __init__(self, width, elementwise_affine=True):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width)) if elementwise_affine else None

    def forward(self, x):
        h = x.float()
        h = h * _inverse_rms(h, self.eps)
        h = h.type_as(x)
        if self.gamma is not None:
            h = h * self.gamma
        return h
