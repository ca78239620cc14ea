# expect: wrong  codes: NRM101
# why: the sum of all squares over the number of all elements
import torch
from torch import nn


class RMS(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.to(torch.float32)
        ms = (h * h).sum() / h.numel()
        return (h / torch.sqrt(ms + self.eps)).to(x.dtype) * self.g
