# report: vllm-project/vllm-omni#4278
# codes: NRM501
# why: without a weight the ones are a plain tensor, which stays behind when the module moves
# run: RMSNorm(24, has_weight=False)
# reference: rms(x, 1e-6)
# shows: moves
from typing import Optional, Union

import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    """w * x / sqrt(E[x^2] + eps), with an optional residual that is added first."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-6,
        has_weight: bool = True,
        dtype: Optional[torch.dtype] = None,
    ) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.variance_epsilon = eps
        self.has_weight = has_weight
        self.weight = torch.ones(hidden_size, dtype=dtype)
        if self.has_weight:
            self.weight = nn.Parameter(self.weight)

    def forward(
        self,
        x: torch.Tensor,
        residual: Optional[torch.Tensor] = None,
    ) -> Union[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        orig_dtype = x.dtype
        x = x.to(torch.float32)
        if residual is not None:
            x = x + residual.to(torch.float32)
            residual = x.to(orig_dtype)
        variance = x.pow(2).mean(dim=-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        x = x.to(orig_dtype) * self.weight
        if residual is None:
            return x
        return x, residual
