"""Why an output is what it is: the usual mistakes, tried one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import torch
from torch import Tensor

from normlint.verify.probes import Case
from normlint.verify.reference import Reference
from normlint.verify.words import NEAR

Params: TypeAlias = tuple[Tensor | None, Tensor | None]  # gain and shift as they act, in fp64


def cause(case: Case, x: Tensor, y: Tensor, reference: Reference, params: Params) -> str:
    """The known mistake that gives just this output, or ""."""
    wide, y = x.double(), y.double()
    if not bool(torch.isfinite(y).all()) or not y.any():
        return _range_of_half(case)
    for told, other in _alternatives(wide, reference, *params):
        if other.shape == y.shape and (y - other).abs().max() <= NEAR * other.abs().max():
            return told
    if case.name == "offset" and reference.kind == "layer":
        return "E[x²] − E[x]² cancels where the mean is large"
    return ""


def _range_of_half(case: Case) -> str:
    if case.dtype == torch.float16 and case.scale > 1:
        return "x² overflows beyond 65504"
    if case.twist in ("zero row", "zeros"):
        return "0 / 0: no eps, or one that is 0 in fp16" if case.twist == "zeros" else "0 / 0: no eps"
    return ""


def _alternatives(
    x: Tensor, reference: Reference, gain: Tensor | None, shift: Tensor | None
) -> Iterator[tuple[str, Tensor]]:
    """Outputs of the usual mistakes."""
    d = x.shape[-1]
    right = reference(x, gain, None)
    plus = 0.0 if shift is None else shift
    if gain is not None:
        yield "the gain is not applied", reference(x, None, shift)
        yield "the gain is off by 1", reference(x, gain - 1, shift)
        yield "the gain is off by 1", reference(x, gain + 1, shift)
    if shift is not None:
        yield "the shift is not applied", right
    if reference.kind == "layer":
        yield "the mean is not subtracted", Reference("rms", reference.form, reference.eps)(x, gain, shift)
        if d > 1:
            yield "the variance is unbiased: it divides by D − 1", right * ((d - 1) / d) ** 0.5 + plus
    if reference.kind != "layer":
        yield "the mean is subtracted", Reference("layer", reference.form, reference.eps)(x, gain, shift)
    yield "√D too small: the sum is never divided by D", right * d**-0.5 + plus
    yield "√D too large", right * d**0.5 + plus
    yield "D too small", right / d + plus
