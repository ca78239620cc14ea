import torch
import torch.nn as nn


class DistributedRMSNorm(nn.Module):
    """RMS norm in two steps: a statistic for each row, then its application."""

    def __init__(self, hidden_size: int, epsilon: float = 1e-6):
        super().__init__()
        self.hidden_size = hidden_size
        self.epsilon = epsilon
        self.gamma = nn.Parameter(torch.ones(hidden_size))

    def _statistic(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(torch.square(x), dim=-1, keepdim=True) / self.hidden_size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x.to(torch.float32)
        mean_of_squares = self._statistic(h)
        h = h * torch.rsqrt(mean_of_squares + self.epsilon)
        return h.to(x.dtype) * self.gamma
