"""Measure what a report draws: errors over input scales, and which output rows each input row changes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from normlint.text.sweep import NORM, TORCH, Curve, Sweep
from normlint.verify.bench import measure
from normlint.verify.bench.bench import USER_ERRORS, Bench, LeftOutError, RaisedError, effective, wide
from normlint.verify.bench.effective_eps import of_half
from normlint.verify.bench.probes import SHORT, Case
from normlint.verify.bench.properties import ROWS, D, plain, shares_moved, with_row_changed
from normlint.verify.bench.reference import Reference, affine
from normlint.verify.job import ADDED, FLOOR_OF_ROOT
from normlint.verify.subject import CannotBuildError, Made

SCALES: Final = tuple(10 ** (e / 2) for e in range(-8, 9))
SHAPE: Final = (3, 5, 64)
MOST_ROWS: Final = 16
BUDGET: Final = 1.0  # seconds, so that the verdict, which is known by then, isn't lost to the timeout
NORMALIZE_EPS: Final = 1e-12  # the default of F.normalize
_SALT: Final = 400


def sweep(bench: Bench, dtypes: Sequence[torch.dtype]) -> Sweep:
    """Return the curves and row changes of a norm, within the time budget; the bench's reference must be set."""
    until = time.monotonic() + BUDGET
    curves = tuple(curve for dtype in dtypes for curve in _curves(bench, dtype, until))
    return Sweep(curves, _row_changes(bench) if time.monotonic() < until else ())


def _curves(bench: Bench, dtype: torch.dtype, until: float) -> Iterator[Curve]:
    limit = measure.LIMIT[dtype] * torch.finfo(dtype).eps
    for of, error in ((NORM, _error_of_norm), (TORCH, _error_of_torch)):
        points = tuple(_points(bench, dtype, error, until))
        if points:
            yield Curve(of, SHORT[dtype], limit, points)


def _points(
    bench: Bench, dtype: torch.dtype, error: Callable[[Bench, Tensor], float], until: float
) -> Iterator[tuple[float, float]]:
    """Yield (scale, error) for the same random numbers at every scale."""
    for scale in SCALES:
        case = bench.adapted(Case("sweep", "input", SHAPE, dtype, scale))
        if case is None or time.monotonic() > until:
            return
        x = bench.filled(case, _SALT)
        try:
            yield scale, error(bench, x)
        except (LeftOutError, CannotBuildError):
            return
        except RaisedError:
            yield scale, math.inf


def _error_of_norm(bench: Bench, x: Tensor) -> float:
    """Return the norm's largest error, relative to its spread, with any eps that is correct in its dtype."""
    with torch.no_grad():
        made, y = bench.run_pinned(bench.made(x.shape[-1], x.dtype), x.clone())
    if y.shape != x.shape or not y.is_floating_point():
        return math.inf
    held = (bench.reference, *(held for held, why in of_half(bench.reference, x.dtype) if not why))
    return min(_relative_error(y, *bench.expected(made, x, one)) for one in held)


def _error_of_torch(bench: Bench, x: Tensor) -> float:
    """Return the largest error of torch's own norm of that kind on the same input."""
    try:
        gain, shift = effective(bench.made(x.shape[-1], x.dtype), x.shape[-1])
    except RaisedError as error:  # the norm's gain doesn't fit, which is not torch's error
        raise LeftOutError(str(error)) from error
    kept = [None if one is None else one.to(x.dtype).expand(x.shape[-1]) for one in (gain, shift)]
    placed = [None if one is None else one.to(x.device) for one in kept]
    reference = of_torch(bench.reference)
    try:
        y = _by_torch(reference, x, *placed).cpu()
    except USER_ERRORS as error:
        raise LeftOutError(str(error)) from error
    gain, shift = (None if one is None else one.double() for one in kept)
    return _relative_error(y, *reference.with_spread(wide(x), gain, shift))


def of_torch(reference: Reference) -> Reference:
    """Return the reference for torch's own norm of that kind, with the eps that was measured."""
    if reference.kind != "l2":
        return replace(reference, form=ADDED, summed=False)
    eps = reference.eps if reference.form == FLOOR_OF_ROOT and reference.eps else NORMALIZE_EPS
    return Reference("l2", FLOOR_OF_ROOT, eps)


def _by_torch(reference: Reference, x: Tensor, gain: Tensor | None, shift: Tensor | None) -> Tensor:
    features = (x.shape[-1],)
    if reference.kind == "layer":
        return functional.layer_norm(x, features, gain, shift, reference.eps)
    if reference.kind == "rms":
        return affine(functional.rms_norm(x, features, gain, reference.eps), None, shift)
    return affine(functional.normalize(x, dim=-1, eps=reference.eps), gain, shift)


def _relative_error(y: Tensor, ref: Tensor, spread: Tensor) -> float:
    """Return the largest error relative to its spread, not in units of the dtype's eps."""
    return measure.elementwise(y, ref, spread) * torch.finfo(y.dtype).eps


def _row_changes(bench: Bench) -> tuple[tuple[float, ...], ...]:
    """Return how far each output row moves when each row of `independence`'s input is changed; () where unknown."""
    try:
        made, x = bench.made(bench.size(D)), plain(bench, ROWS)
        count = math.prod(x.shape[:-1])
        if not 2 <= count <= MOST_ROWS:
            return ()
        before = _run_rows(bench, made, x, count)
        changed = [_run_rows(bench, made, with_row_changed(x, i), count) for i in range(count)]
    except (LeftOutError, RaisedError, CannotBuildError):
        return ()
    if before is None:
        return ()
    return tuple(() if one is None else shares_moved(before, one, i) for i, one in enumerate(changed))


def _run_rows(bench: Bench, made: Made, x: Tensor, count: int) -> Tensor | None:
    with torch.no_grad():
        y = bench.run(made, x.clone())
    return y.reshape(count, -1) if y.shape == x.shape else None
