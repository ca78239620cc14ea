# expect: match
# why: audio layout (batch, channels, time): the channels are dim 1, and the gain has shape (1, C, 1)
import torch
from torch import nn


class ChannelNorm(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(1, channels, 1))
        self.beta = nn.Parameter(torch.zeros(1, channels, 1))

    def forward(self, x):
        assert x.dim() == 3
        orig = x.dtype
        x = x.float()
        mean = torch.mean(x, 1, keepdim=True)
        variance = torch.mean((x - mean) ** 2, 1, keepdim=True)
        x = (x - mean) * torch.rsqrt(variance + self.eps)
        return (x * self.gamma.float() + self.beta.float()).to(orig)
