import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    """https://arxiv.org/abs/1910.07467"""

    def __init__(self, hidden_dim, eps: float = 1e-12):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_dim))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        dtype = x.dtype
        x = x.to(torch.float32)
        inv_rms = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return self.weight * (x * inv_rms).to(dtype)


class EncoderLayer(nn.Module):
    def __init__(self, hidden_dim, ff_dim, dropout=0.1):
        super().__init__()
        self.norm = RMSNorm(hidden_dim)
        self.ff = nn.Sequential(
            nn.Linear(hidden_dim, ff_dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(ff_dim, hidden_dim)
        )

    def forward(self, x):
        return x + self.ff(self.norm(x))
