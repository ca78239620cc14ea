# expect: wrong  codes: NRM105
# why: correction=1, spelled out
import torch
from torch import nn


class Normalise(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(num_features))

    def forward(self, x):
        v, m = torch.var_mean(x.float(), -1, correction=1, keepdim=True)
        return ((x.float() - m) / (v + self.eps).sqrt()).to(x.dtype) * self.gain
