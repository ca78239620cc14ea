"""What a norm should give, in fp64, written from its definition and never from the user's code."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from normlint.verify.job import ADDED, FLOOR_OF_SQUARE, OUTSIDE

TINY = 1e-300  # keeps the root of a row of zeros finite where there is no eps


@dataclass(frozen=True, slots=True)
class Reference:
    """The norm over the last axis: kind, how eps enters, and eps in units of the mean square (`summed`: of the sum)."""

    kind: str
    form: str = ADDED
    eps: float = 0.0
    summed: bool = False

    def __call__(
        self, x: Tensor, gain: Tensor | None = None, shift: Tensor | None = None, plain: Tensor | None = None
    ) -> Tensor:
        """The norm with gain and shift; a row of zeros stays zero. `plain`: what it is before these, if known."""
        y = self.plain(x) if plain is None else plain
        y = y if gain is None else y * gain
        return y if shift is None else y + shift

    def plain(self, x: Tensor) -> Tensor:
        """The norm before gain and shift."""
        c = x - x.mean(-1, keepdim=True) if self.kind == "layer" else x
        return c * self.inverse_root(c)

    def inverse_root(self, c: Tensor) -> Tensor:
        """What every element of a row is multiplied by."""
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

    def spread(
        self, x: Tensor, gain: Tensor | None = None, shift: Tensor | None = None, plain: Tensor | None = None
    ) -> Tensor:
        """What an error is measured against: the terms of the sum, for a layer norm with their conditioning."""
        terms = (self.plain(x) if plain is None else plain).abs()
        if self.kind == "layer":
            mean = x.mean(-1, keepdim=True)
            terms = terms + mean.abs() * self.inverse_root(x - mean) + 1
        terms = terms if gain is None else terms * gain.abs()
        return terms if shift is None else terms + shift.abs()

    def gradient_terms(self, x: Tensor, up: Tensor, gain: Tensor | None = None) -> Tensor:
        """The size of the terms that the input's gradient is the difference of, a row each."""
        mean = x.mean(-1, keepdim=True) if self.kind == "layer" else torch.zeros_like(x[..., :1])
        inverse = self.inverse_root(x - mean)
        terms = up if gain is None else up * gain
        return terms.abs().amax(-1, keepdim=True) * inverse * (1 + mean.abs() * inverse)


def flat(tensor: Tensor | None, d: int) -> Tensor | None:
    """A gain or shift as it meets features that lie last: of d elements in whatever shape, or as it is."""
    if tensor is None or tensor.numel() != d:
        return tensor
    return torch.reshape(tensor, (d,))
