# expect: match
# why: var without Bessel's correction, of the fp32 copy
import torch
from torch import nn


class LN(nn.Module):
    def __init__(self, d, eps=1e-5, bias=True):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))
        self.b = nn.Parameter(torch.zeros(d)) if bias else None
        self.eps = eps

    def forward(self, x):
        f = x.float()
        mu, sigma2 = f.mean(-1, keepdim=True), f.var(-1, keepdim=True, unbiased=False)
        y = self.g.float() * (f - mu) / torch.sqrt(sigma2 + self.eps)
        if self.b is not None:
            y = y + self.b.float()
        return y.to(x.dtype)
