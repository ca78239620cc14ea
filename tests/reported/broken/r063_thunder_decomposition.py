# report: Lightning-AI/lightning-thunder#1713
# codes: NRM201
# why: the decomposition of rms_norm squares and averages in the dtype of the input
# run: lambda x: rms_norm(x, (x.shape[-1],), eps=1e-5)
# reference: rms(x, 1e-5)
# shows: half
"""torch.nn.functional's norms, taken apart into operations a compiler knows."""
from __future__ import annotations

from collections.abc import Sequence

import torch


def _normalized_dims(a: torch.Tensor, normalized_shape: Sequence[int]) -> tuple[int, ...]:
    num = len(normalized_shape)
    if tuple(a.shape[-num:]) != tuple(normalized_shape):
        raise RuntimeError(f"Expected the last dimensions of {a.shape=} to be {normalized_shape=}")
    return tuple(range(a.ndim - num, a.ndim))


def rms_norm(
    a: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: None | torch.Tensor = None,
    eps: None | float = None,
) -> torch.Tensor:
    if eps is None:
        eps = torch.finfo(a.dtype).eps
    dims = _normalized_dims(a, normalized_shape)
    norm_a = torch.mean(a * a, dim=dims, keepdim=True)
    a_normed = a * torch.rsqrt(norm_a + eps)
    if weight is not None:
        a_normed = a_normed * weight
    return a_normed
