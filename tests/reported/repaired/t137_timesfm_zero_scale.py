import torch
from torch import nn


class RMSNorm(nn.Module):
    """RMS normalization."""

    def __init__(self, num_features: int, *, epsilon: float = 1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(num_features))
        self.num_features = num_features
        self.epsilon = epsilon

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        wide = inputs.float()
        var = torch.mean(torch.square(wide), dim=-1, keepdim=True)
        normed_inputs = (wide * torch.rsqrt(var + self.epsilon)).to(inputs.dtype)
        normed_inputs *= self.scale
        return normed_inputs
