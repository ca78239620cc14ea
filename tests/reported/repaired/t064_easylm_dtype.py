import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6, dtype=torch.float32, param_dtype=torch.float32):
        super().__init__()
        self.dim = dim
        self.eps = eps
        self.dtype = dtype
        self.kernel = nn.Parameter(torch.ones(dim, dtype=param_dtype))

    def _norm(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(torch.square(x).mean(-1, keepdim=True) + self.eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output = self._norm(x.float()).to(self.dtype)
        weight = self.kernel.to(self.dtype)
        return output * weight
