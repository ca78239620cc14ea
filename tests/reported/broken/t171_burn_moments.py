# report: tracel-ai/burn#5607
# codes: NRM204
# why: mean of squares minus squared mean, at a mean of 100
# run: LayerNorm(LayerNormConfig(24))
# reference: layer(x, 1e-5)
# shows: offset
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class LayerNormConfig:
    d_model: int
    epsilon: float = 1e-5
    bias: bool = True


class LayerNorm(nn.Module):
    def __init__(self, config: LayerNormConfig):
        super().__init__()
        self.epsilon = config.epsilon
        self.gamma = nn.Parameter(torch.ones(config.d_model))
        self.beta = nn.Parameter(torch.zeros(config.d_model)) if config.bias else None

    @staticmethod
    def moments(x):
        first = x.mean(dim=-1, keepdim=True)
        second = x.square().mean(dim=-1, keepdim=True)
        return first, second - first.square()

    def forward(self, x):
        wide = x.to(torch.float32)
        mean, var = self.moments(wide)
        out = ((wide - mean) / (var + self.epsilon).sqrt()).to(x.dtype) * self.gamma
        return out if self.beta is None else out + self.beta
