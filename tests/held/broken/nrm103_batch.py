# expect: wrong  codes: NRM103
# why: axis 0 is the batch
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.bias = nn.Parameter(torch.zeros(hidden_size))

    def forward(self, x):
        h = x.float()
        centred = h - h.mean(dim=0, keepdim=True)
        h = centred / torch.sqrt(centred.pow(2).mean(dim=0, keepdim=True) + self.eps)
        return (h * self.weight + self.bias).to(x.dtype)
