"""Explain a wrong output by comparing it with the outputs of common mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import torch
from torch import Tensor

from normlint.verify.bench.bench import wide
from normlint.verify.bench.probes import Case
from normlint.verify.bench.reference import Reference, affine
from normlint.verify.bench.words import NEAR

HALF_MAX: Final = 65504.0
ROW_OVERFLOWS: Final = "the norm of a row overflows beyond 65504"
Params: TypeAlias = tuple[Tensor | None, Tensor | None]  # effective gain and shift, in fp64


def cause(case: Case, x: Tensor, y: Tensor, reference: Reference, params: Params) -> str:
    """Return the known mistake that gives this output, "" for none."""
    x, y = wide(x), y.double()
    if case.dtype != torch.float32:
        return _range_of_half(case, x, y, params[1])
    if not bool(torch.isfinite(y).all()):
        return "0 / 0: no eps" if case.twist == "zero row" else ""
    right = reference(x, *params)
    for why, other in _alternatives(x, reference, *params):
        if _near(y, other) and not _near(right, other):
            return why
    if case.name == "offset" and reference.kind == "layer":
        return "E[x²] − E[x]² cancels where the mean is large"
    return ""


def _near(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool((one - other).abs().max() <= NEAR * other.abs().max())


def _range_of_half(case: Case, x: Tensor, y: Tensor, shift: Tensor | None) -> str:
    """Return which quantity leaves the range of fp16, "" where none is known to."""
    if case.twist == "zeros":
        return "0 / 0: no eps, or one that is 0 in fp16"
    if case.dtype != torch.float16 or case.scale == 1:
        return ""
    if case.scale < 1:
        return "x² underflows"
    bare = y if shift is None else y - shift
    lost = (bare.abs() <= NEAR * y.abs()).all(-1) | ~torch.isfinite(y).all(-1)
    if not bool(lost.any()):  # an overflow in a row makes it zero or not finite
        return ""
    large = x.square().sum(-1).sqrt() > HALF_MAX
    return ROW_OVERFLOWS if torch.equal(lost, large) else "x² overflows beyond 65504"


def _alternatives(
    x: Tensor, reference: Reference, gain: Tensor | None, shift: Tensor | None
) -> Iterator[tuple[str, Tensor]]:
    """Yield common mistakes with the outputs they would give."""
    d = x.shape[-1]
    right = reference(x, gain, None)
    if gain is not None:
        yield "the gain is not applied", reference(x, None, shift)
        yield "the gain is off by 1", reference(x, gain - 1, shift)
        yield "the gain is off by 1", reference(x, gain + 1, shift)
    if shift is not None:
        yield "the shift is not applied", right
    mean = x.mean(-1, keepdim=True)
    bare = Reference("rms", reference.form, reference.eps)
    if reference.kind == "layer":
        c = x - mean
        yield "the mean is not subtracted", bare(x, gain, shift)
        yield "the mean is not subtracted in the variance", affine(c * bare.inverse_root(x), gain, shift)
        yield "the mean is subtracted in the variance alone", affine(x * bare.inverse_root(c), gain, shift)
    else:
        c = x
        yield "the mean is subtracted", Reference("layer", reference.form, reference.eps)(x, gain, shift)
    for why, scale in _other_scales(c):
        yield why, affine(c * scale, gain, shift)
    for why, factor in _FACTORS:
        yield why, affine(right * factor(max(d, 2)), None, shift)


_FACTORS: Final[tuple[tuple[str, Callable[[int], float]], ...]] = (
    ("the variance is unbiased: it divides by D − 1", lambda d: ((d - 1) / d) ** 0.5),
    ("√D times too small: the sum is never divided by D", lambda d: d**-0.5),
    ("√D times too large", lambda d: d**0.5),
    ("D times too small", lambda d: 1 / d),
)


def of_gradient(got: Tensor, x: Tensor, up: Tensor, reference: Reference, gain: Tensor | None) -> str:
    """Return why the input's gradient is off, "" if unknown."""
    c = x - x.mean(-1, keepdim=True) if reference.kind == "layer" else x
    straight = (up if gain is None else up * gain) * reference.inverse_root(c)
    constant = (straight, straight - straight.mean(-1, keepdim=True))
    known = any((got.double() - one).abs().max() <= NEAR * one.abs().max() for one in constant)
    return " (the statistic is treated as a constant)" if known else ""


def _other_scales(c: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield mistakes in the root or the square with the factor by which each row is then multiplied."""
    ms = c.square().mean(-1, keepdim=True)
    yield "multiplied by the root instead of divided", ms.sqrt()
    yield "no root is taken", 1 / ms
    yield "two roots are taken", ms**-0.25
    yield "the mean of |x| instead of the root mean square", 1 / c.abs().mean(-1, keepdim=True)
    yield "the root of the mean of |x|", c.abs().mean(-1, keepdim=True).rsqrt()
