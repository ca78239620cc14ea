# expect: wrong  codes: NRM302
# why: the root of the variance, plus eps
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        mean = h.mean(dim=-1, keepdim=True)
        sd = torch.sqrt(torch.var(h, dim=-1, keepdim=True, unbiased=False))
        return (self.alpha * ((h - mean) / (sd + self.eps)) + self.bias).to(x.dtype)
