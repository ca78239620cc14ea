# report: mosaicml/llm-foundry#371
# codes: NRM401
# why: the root mean square has been inverted by rsqrt already, and x is divided by it
# run: LPRMSNorm(24)
# reference: rms(x, 1e-5)
# shows: values
"""Normalisation layers of the MPT family, with their low precision variants."""
from __future__ import annotations

from typing import Optional, Sequence, Union

import torch


def _cast_if_autocast_enabled(tensor: torch.Tensor) -> torch.Tensor:
    if not torch.is_autocast_enabled():
        return tensor
    if tensor.device.type == 'cuda':
        return tensor.to(dtype=torch.get_autocast_gpu_dtype())
    return tensor.to(dtype=torch.get_autocast_cpu_dtype())


def rms_norm(x: torch.Tensor, weight: Optional[torch.Tensor] = None, eps: float = 1e-5) -> torch.Tensor:
    in_dtype = x.dtype
    x = x.float()
    output = x / torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    output = output.to(in_dtype)
    if weight is not None:
        return output * weight
    return output


class RMSNorm(torch.nn.Module):

    def __init__(
        self,
        normalized_shape: Union[int, Sequence[int]],
        eps: float = 1e-5,
        weight: bool = True,
        dtype: Optional[torch.dtype] = None,
        device: Optional[torch.device] = None,
    ):
        super().__init__()
        self.eps = eps
        if weight:
            self.weight = torch.nn.Parameter(torch.ones(normalized_shape, dtype=dtype, device=device))
        else:
            self.register_parameter('weight', None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rms_norm(x, self.weight, self.eps)


class LPRMSNorm(RMSNorm):

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        downcast_x = _cast_if_autocast_enabled(x)
        downcast_weight = _cast_if_autocast_enabled(self.weight) if self.weight is not None else None
        with torch.autocast(enabled=False, device_type=x.device.type):
            return rms_norm(downcast_x, downcast_weight, self.eps)


NORM_CLASS_REGISTRY = {
    'rmsnorm': RMSNorm,
    'low_precision_rmsnorm': LPRMSNorm,
}
