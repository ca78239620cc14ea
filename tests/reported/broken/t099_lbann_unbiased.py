# report: LBANN/lbann#2024
# codes: NRM105|NRM104
# why: the sum of squared deviations is divided by n - 1
# run: LayerNormLayer(4)
# reference: layer(x, 1e-5)
# shows: values
# input: 2 3 4
import torch
from torch import nn


class LayerNormLayer(nn.Module):
    def __init__(self, width: int, epsilon: float = 1e-5, scale: bool = True, bias: bool = True):
        super().__init__()
        self.epsilon = epsilon
        self.scale = nn.Parameter(torch.ones(width)) if scale else None
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def statistics(self, x: torch.Tensor):
        n = x.shape[-1]
        mean = x.sum(-1, keepdim=True) / n
        var = (x - mean).square().sum(-1, keepdim=True) / (n - 1)
        return mean, var

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        mean, var = self.statistics(wide)
        y = ((wide - mean) * (var + self.epsilon).rsqrt()).to(x.dtype)
        if self.scale is not None:
            y = y * self.scale
        if self.bias is not None:
            y = y + self.bias
        return y
