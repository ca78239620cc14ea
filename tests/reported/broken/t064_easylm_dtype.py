# report: young-geng/EasyLM#50
# codes: NRM201
# why: the norm computes in the dtype of the model: a loss of 2.0 instead of 0.12
# run: RMSNorm(24, dtype=torch.float16)
# reference: rms(x, 1e-6)
# shows: half
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
        x = x.to(self.dtype)
        output = self._norm(x).to(self.dtype)
        weight = self.kernel.to(self.dtype)
        return output * weight
