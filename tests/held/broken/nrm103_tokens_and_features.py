# expect: wrong  codes: NRM103
# why: tokens and features together: a token's output depends on its neighbours
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        ms = h.square().mean(dim=(1, 2), keepdim=True)
        return (h / (ms + self.eps).sqrt()).to(x.dtype) * self.scale
