import torch
import torch.nn.functional as F
from torch import nn


class SimpleRMSNorm(nn.Module):
    """Root mean square norm without a learned gain.

    Args:
        dim (int): The dimension of the input.

    Example:
        >>> x = torch.randn(1, 10, 512)
        >>> SimpleRMSNorm(512)(x).shape
        torch.Size([1, 10, 512])
    """

    def __init__(self, dim):
        super().__init__()
        self.scale = dim**0.5

    def forward(self, x):
        """Forward pass of SimpleRMSNorm."""
        return F.normalize(x, dim=-1) * self.scale


class PreNormResidual(nn.Module):
    def __init__(self, dim: int, fn: nn.Module):
        super().__init__()
        self.norm = SimpleRMSNorm(dim)
        self.fn = fn

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.fn(self.norm(x))
