"""Measure errors of outputs and gradients in units of the dtype's eps."""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor

LIMIT: Final = {torch.float32: 64.0, torch.float16: 4.0, torch.bfloat16: 4.0}
GRADIENT_LIMIT: Final = 64.0
ROW_GAIN_LIMIT: Final = 0.1  # sound norms reach 0.09, a rounded statistic at least 0.19
ENOUGH_FEATURES: Final = 128
TOO_FEW_FEATURES: Final = 32


def elementwise(y: Tensor, ref: Tensor, spread: Tensor) -> float:
    """Return the largest |y − ref| / (eps · spread), where the spread is at least the smallest normal number."""
    if y.numel() == 0:
        return 0.0
    info = torch.finfo(y.dtype)
    error = (y.double() - ref).abs() / spread.clamp(min=info.tiny)
    return _finite_or_inf(error.max().item() / info.eps)


def row_gain(y: Tensor, ref: Tensor) -> float:
    """Return the RMS over rows of (⟨y, ref⟩ / ⟨ref, ref⟩ − 1) / eps, where only errors of a whole row remain."""
    gain = (y.double() * ref).sum(-1) / ref.square().sum(-1) - 1
    return _finite_or_inf(gain.square().mean().sqrt().item() / torch.finfo(y.dtype).eps)


def row_gain_limit(d: int) -> float | None:
    """Return the limit of `row_gain` for d features; None for too few, over which rounding doesn't average out."""
    return ROW_GAIN_LIMIT * max(1.0, ENOUGH_FEATURES / d) ** 0.5 if d >= TOO_FEW_FEATURES else None


def rowwise(got: Tensor, want: Tensor, floor: Tensor | float, eps: float) -> float:
    """Return the largest |got − want| / (eps · the row's largest |want|), or `floor` where that is larger."""
    least = torch.as_tensor(floor, dtype=want.dtype, device=want.device)
    scale = torch.maximum(want.abs().amax(-1, keepdim=True), least)
    error = (got.double() - want).abs() / scale.clamp(min=1e-300)
    return _finite_or_inf(error.max().item() / eps)


def _finite_or_inf(error: float) -> float:
    return error if math.isfinite(error) else math.inf
