import torch
from torch import nn


class ConditionalLayerNorm(nn.Module):
    """A layer norm whose gain and bias depend on the time."""

    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Linear(1, dim)
        self.bias = nn.Linear(1, dim)
        nn.init.zeros_(self.weight.weight)
        nn.init.ones_(self.weight.bias)
        nn.init.zeros_(self.bias.weight)
        nn.init.zeros_(self.bias.bias)

    def forward(self, x, time):
        dtype = x.dtype
        x = x.float()
        mean = x.mean(dim=-1, keepdim=True)
        var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        x = ((x - mean) / (var + self.eps).sqrt()).to(dtype)
        time = time.reshape(-1, 1).type_as(x)
        weight = self.weight(time).unsqueeze(1)
        bias = self.bias(time).unsqueeze(1)
        return weight * x + bias
