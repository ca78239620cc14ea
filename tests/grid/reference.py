"""What a recipe's norm should give, in fp64, written from the definition and not from any case's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from tests.grid.recipe import Recipe

INTENDED: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Reference:
    """Which norm it is and how eps enters: added to the mean square, a floor of it, of its root, or of the L2 norm."""

    kind: str
    form: str
    eps: float

    def __call__(self, x: Tensor, w: Tensor | None, b: Tensor | None) -> Tensor:
        """The norm of `x`'s last axis."""
        c = x - x.mean(-1, keepdim=True) if self.kind == "layer" else x
        y = c * self._scale(c.square().mean(-1, keepdim=True), x.shape[-1])
        y = y if w is None else y * w
        return y if b is None else y + b

    def _scale(self, ms: Tensor, d: int) -> Tensor:
        if self.form == "added":
            return (ms + self.eps).rsqrt()
        if self.form == "floor of the mean square":
            return ms.clamp(min=self.eps).rsqrt()
        floor = self.eps if self.form == "floor of the root" else self.eps / d**0.5
        return ms.clamp(min=1e-300).sqrt().clamp(min=floor).reciprocal()

    def spread(self, x: Tensor, y: Tensor, w: Tensor | None, b: Tensor | None) -> Tensor:
        """What an error is measured against: the value itself, for a layer norm with its conditioning."""
        if self.kind != "layer":
            return y.abs() if b is None else (y - b).abs() + b.abs()
        mean = x.mean(-1, keepdim=True)
        c = x - mean
        inverse = self._scale(c.square().mean(-1, keepdim=True), x.shape[-1])
        gain = torch.ones_like(x[..., :1]) if w is None else w.abs()
        shift = 0.0 if b is None else b.abs()
        return gain * ((c.abs() + mean.abs()) * inverse + 1) + shift


def reference(r: Recipe, eps: float | None = None) -> Reference:
    """The recipe's reference, with another eps if one is given."""
    if r.power == 0:
        return Reference(r.kind, "floor of the norm", (eps or _value(r)) if "eps" in r.reduction else 1e-12)
    form = "added"
    if "clamp" in r.join:
        form = "floor of the mean square" if r.power == 1 else "floor of the root"
    elif r.power == 0.5:
        form = "floor of the root"
    return Reference(r.kind, form, eps or _value(r))


def _value(r: Recipe) -> float:
    """The eps that was meant."""
    value = float(r.eps_value)
    return value if 0 < value < 1e-3 else INTENDED
