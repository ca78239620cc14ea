"""Compute the correct output of a norm in fp64, from its definition and independent of the user's code."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from normlint.verify.job import ADDED, FLOOR_OF_SQUARE, OUTSIDE

TINY = 1e-300  # keeps the root of a row of zeros finite where there is no eps


@dataclass(frozen=True, slots=True)
class Reference:
    """A norm over the last axis, with `eps` in units of the mean square or, if `summed`, of the sum of squares."""

    kind: str
    form: str = ADDED
    eps: float = 0.0
    summed: bool = False

    def __call__(self, x: Tensor, gain: Tensor | None = None, shift: Tensor | None = None) -> Tensor:
        """Return the norm with gain and shift; a row of zeros stays zero."""
        c = x - x.mean(-1, keepdim=True) if self.kind == "layer" else x
        return affine(c * self.inverse_root(c), gain, shift)

    def inverse_root(self, c: Tensor) -> Tensor:
        """Return the factor of each row (..., 1), given `c`: the input, centred for a layer norm."""
        d = max(c.shape[-1], 1)
        ms = c.square().sum(-1, keepdim=True) / d
        unit = self._unit(d)
        if self.form == ADDED:
            inverse = (ms + self.eps * unit).clamp(min=TINY).rsqrt()
        elif self.form == FLOOR_OF_SQUARE:
            inverse = ms.clamp(min=max(self.eps * unit, TINY)).rsqrt()
        elif self.form == OUTSIDE:
            inverse = (ms.clamp(min=TINY).sqrt() + self.eps * unit**0.5).reciprocal()
        else:
            inverse = ms.clamp(min=TINY).sqrt().clamp(min=self.eps * unit**0.5).reciprocal()
        return inverse * d**-0.5 if self.kind == "l2" else inverse

    def _unit(self, d: int) -> float:
        return 1 / d if self.summed or self.kind == "l2" else 1.0

    def with_spread(self, x: Tensor, gain: Tensor | None = None, shift: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the norm and the unit of errors: the summed terms' size, with the loss in a layer norm's centring."""
        plain = self(x)
        terms = plain.abs()
        if self.kind == "layer":
            mean = x.mean(-1, keepdim=True)
            terms = terms + mean.abs() * self.inverse_root(x - mean) + 1
        sizes = (None if one is None else one.abs() for one in (gain, shift))
        return affine(plain, gain, shift), affine(terms, *sizes)

    def gradient_terms(self, x: Tensor, up: Tensor, gain: Tensor | None = None) -> Tensor:
        """Return for each row (..., 1) the size of the terms whose difference is the input's gradient."""
        mean = x.mean(-1, keepdim=True) if self.kind == "layer" else torch.zeros_like(x[..., :1])
        inverse = self.inverse_root(x - mean)
        terms = up if gain is None else up * gain
        return terms.abs().amax(-1, keepdim=True) * inverse * (1 + mean.abs() * inverse)


def affine(y: Tensor, gain: Tensor | None, shift: Tensor | None) -> Tensor:
    """Return `y` times the gain plus the shift, where there are such."""
    y = y if gain is None else y * gain
    return y if shift is None else y + shift


def flat(tensor: Tensor | None, d: int) -> Tensor | None:
    """Return a gain or shift of d elements, whatever its shape, as (d,); any other unchanged."""
    if tensor is None or tensor.numel() != d:
        return tensor
    return torch.reshape(tensor, (d,))
