# expect: wrong  codes: NRM101
# why: the sum of all squares over the features' number: wrong for more than one row
import torch
from torch import nn


class RootMeanSquareNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.weights = nn.Parameter(torch.ones(d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x.dtype
        x = x.to(torch.float32)
        total = torch.sum(x.square())
        return (x * torch.rsqrt(total / self.d_model + self.eps) * self.weights).to(kept)
