"""Measure which eps takes effect, and how, from a norm's gain at input scales from 1 down to where eps dominates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from normlint.verify.bench.reference import Reference
from normlint.verify.job import ADDED, FLOOR_OF_ROOT, FLOOR_OF_SQUARE, OUTSIDE, Meaning

SCALES: Final = tuple(10.0**-e for e in (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16))
FITS: Final = 2e-3  # correct norms fit to 8e-8, the next form misfits by 17 %
VISIBLE: Final = 1e-4
AGREES: Final = 0.01
LARGEST: Final = 1e-2  # the mean square of real activations


@dataclass(frozen=True, slots=True)
class Fit:
    """How eps enters, and its value in units of the mean square (or its root); "" and 0 where none has an effect."""

    form: str
    value: float


UNSEEN: Final = Fit("", 0.0)


@dataclass(frozen=True, slots=True)
class Settled:
    """The reference to compare with, the eps that takes effect, and what is wrong with it ("" for nothing)."""

    reference: Reference
    form: str = ""
    effective: float | None = None
    given: float | None = None
    error: float = 0.0
    message: str = ""


def of_half(reference: Reference, dtype: torch.dtype) -> Iterator[tuple[Reference, str]]:
    """Yield references with another eps that half precision may use, each with a note on its precision or ""."""
    if dtype == torch.float32 or not reference.eps:
        return
    if math.isclose(reference.eps, torch.finfo(torch.float32).eps, rel_tol=1e-3):
        yield replace(reference, eps=torch.finfo(dtype).eps), ""
    rounded = torch.tensor(reference.eps).to(dtype).item()
    if rounded:
        yield replace(reference, eps=rounded), f"eps is rounded to {rounded:.3g}"


def rows(d: int, layer: bool, device: str, g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return a random row of RMS 1 (`layer`: and mean 0) at every scale, (scales, d) in fp32, and the row in fp64."""
    u = torch.randn(d, generator=g).double()
    u = u - u.mean() if layer else u
    u = u / u.square().mean().sqrt()
    x = torch.tensor(SCALES, dtype=torch.float64)[:, None] * u
    return x.float().to(device), u


def fit(y: Tensor, direction: Tensor) -> Fit | None:
    """Return the form and value of eps that explain how `y` (scales, d) scales along `direction`; None if none do."""
    h = (y.double() * direction).sum(-1) / direction.square().sum()
    stray = (y.double() - h[:, None] * direction).abs().amax(-1)
    seen = [
        (s, gain, off) for s, gain, off in zip(SCALES, h.tolist(), stray.tolist(), strict=True) if math.isfinite(gain)
    ]
    if not seen or any(off > FITS * max(abs(gain), 1e-30) * direction.abs().max().item() for _, gain, off in seen):
        return None
    points = [(s, gain) for s, gain, _ in seen]
    tried = ((_misfit(form, value, points), form, value) for form, value in _candidates(points))
    best = min(tried, default=(math.inf, "", 0.0))
    return Fit(best[1], best[2]) if best[0] <= FITS else None


def _candidates(points: list[tuple[float, float]]) -> Iterator[tuple[str, float]]:
    """Yield each form with the value of eps that fits the smallest scale."""
    s, h = points[-1]
    if abs(h - 1) <= VISIBLE:
        yield "", 0.0
    elif h > 0:
        yield ADDED, s * s * (1 / (h * h) - 1)
        yield OUTSIDE, s * (1 / h - 1)
        yield FLOOR_OF_ROOT, s / h


def _misfit(form: str, value: float, points: list[tuple[float, float]]) -> float:
    off = [abs(_MODEL[form](s, value) / h - 1) if h else math.inf for s, h in points]
    return max(off) if all(map(math.isfinite, off)) else math.inf


def _added(s: float, e: float) -> float:
    return s / math.sqrt(s * s + e) if s * s + e > 0 else math.nan


_MODEL: Final[dict[str, Callable[[float, float], float]]] = {
    "": lambda _s, _e: 1.0,
    ADDED: _added,
    OUTSIDE: lambda s, e: s / (s + e),
    FLOOR_OF_ROOT: lambda s, e: s / max(s, e),
}


def settle(found: Fit | None, meaning: Meaning, given: float | None, d: int) -> Settled:
    """Return the reference to compare with: with the norm's own eps if that enters correctly, else as it was meant."""
    known = given if given is not None else meaning.eps
    default = Reference(meaning.kind, meaning.form, _positive_or_zero(known), meaning.of_sum)
    if found is None or not found.form or _is_identity(found, known):
        return _unseen(found == UNSEEN, default, known)
    choices = sorted(_in_possible_units(found, meaning.kind, d), key=lambda c: c.summed != meaning.of_sum)
    agreeing = [c for c in choices if known is not None and _close(c.eps, known)]
    preferred = [c for c in choices if c.form == meaning.form]
    acting = (agreeing or preferred or choices)[0]
    if known is not None and not agreeing and known == torch.finfo(torch.float32).eps:
        known = None  # torch's default, which the norm doesn't use
    sound = acting.form != OUTSIDE or meaning.form == OUTSIDE or meaning.kind == "l2"
    error, message = _eps_error(acting, known, bool(agreeing), sound)
    if meaning.kind == "l2":
        error, message = 0.0, ""
    value = known if known is not None and agreeing else float(f"{acting.eps:.4g}")
    holds = sound and (bool(agreeing) if known is not None else 0 < value < LARGEST)
    held = Reference(acting.kind, acting.form, value, acting.summed) if holds else default
    return Settled(held, acting.form, value, known, error, message)


def _is_identity(found: Fit, known: float | None) -> bool:
    """Return whether the measured floor is too large for an eps, as of code that only scales its input."""
    return found.form == FLOOR_OF_ROOT and found.value >= LARGEST and not (known and known >= LARGEST)


def _in_possible_units(found: Fit, kind: str, d: int) -> Iterator[Reference]:
    """Yield references with the measured eps in each of the units in which code may state it."""
    v = found.value
    root = found.form in (OUTSIDE, FLOOR_OF_ROOT)
    units = ((True, d),) if kind == "l2" else ((False, 1), (True, d))
    for summed, count in units:
        yield Reference(kind, found.form, v * (count**0.5 if root else count), summed)
        if found.form == FLOOR_OF_ROOT:
            yield Reference(kind, FLOOR_OF_SQUARE, v * v * count, summed)


def _eps_error(acting: Reference, known: float | None, agrees: bool, sound: bool) -> tuple[float, str]:
    if not sound:
        return 1.0, f"eps {acting.eps:.3g} is added after the root, not under it"
    if known is not None and not agrees:
        off = abs(acting.eps / known - 1) if known else math.inf
        return off, f"eps {known:g} is given, but {acting.eps:.3g} acts"
    return _range_error(acting.eps if known is None else known)


def _unseen(plain: bool, default: Reference, known: float | None) -> Settled:
    """Return what holds where no eps was measured; `plain`: the output is the same at all scales."""
    error, message = (0.0, "") if known is None else _range_error(known)
    smallest = SCALES[-1] ** 2 if default.form in (ADDED, FLOOR_OF_SQUARE) else SCALES[-1]
    if plain and known is not None and known > 100 * smallest and not message:
        error, message = 1.0, f"eps {known:g} is given, but has no effect"
    if default.kind == "l2":
        error, message = 0.0, ""
    return Settled(default, "", None, known, error, message)


def _range_error(value: float) -> tuple[float, str]:
    """Return the error and message for an eps out of the range that rule NRM303 allows, (0, "") within it."""
    if not math.isfinite(value):
        return math.inf, f"eps is {value}"
    if value <= 0:
        return 1.0, f"eps is {value:g}: nothing keeps the root of a row of zeros from 0"
    if value >= LARGEST:
        return 1.0, f"eps {value:g} is as large as the mean square of real activations"
    return 0.0, ""


def _positive_or_zero(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) and value > 0 else 0.0


def _close(value: float, known: float) -> bool:
    return known != 0 and abs(value / known - 1) <= AGREES
