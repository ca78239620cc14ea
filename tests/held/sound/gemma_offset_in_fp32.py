# expect: match
# why: the gain is 1 + w with w at zero, multiplied in fp32 before the cast
import torch
from torch import nn


class OffsetRMSNorm(nn.Module):
    def __init__(self, features, epsilon=1e-6):
        super().__init__()
        self.epsilon = epsilon
        self.delta = nn.Parameter(torch.zeros(features))

    def _unit(self, v):
        return v / (v.square().mean(dim=-1, keepdim=True) + self.epsilon).sqrt()

    def forward(self, x):
        y = self._unit(x.float())
        y = y * (self.delta.float() + 1.0)
        return y.type_as(x)
