import torch
import torch.nn as nn


class Qwen3VisionNorm(nn.Module):
    def __init__(self, normalized_shape: int, *, eps: float = 1e-6, device=None):
        super().__init__()
        self.normalized_shape = normalized_shape
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(normalized_shape, device=device))

    def _compute_rms_inv(self, x: torch.Tensor) -> torch.Tensor:
        return torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x32 = x.float()
        normed = x32 * self._compute_rms_inv(x32)
        return (normed * self.weight.float()).type_as(x)

    def extra_repr(self):
        return '{}, eps={}'.format(self.normalized_shape, self.eps)
