import torch
from torch import nn


class RMSNorm(nn.Module):
    """The gain is stored as its distance from `gain_center`."""

    gain_center = 0.0

    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(dim))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.ones_(self.weight)

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * (self.gain_center + self.weight.float())).type_as(x)


class Head(nn.Module):
    def __init__(self, dim: int, vocab_size: int):
        super().__init__()
        self.norm = RMSNorm(dim)
        self.output = nn.Linear(dim, vocab_size, bias=False)

    def forward(self, x):
        return self.output(self.norm(x))
