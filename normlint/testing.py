"""Provide `assert_norm`, which checks a norm against an independent reference in a project's own tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from normlint.text.verdict import PRECISION, SKIPPED, WRONG, Probe

KINDS = ("rms", "layer", "l2")
HINT = (
    "\n  If it takes other inputs than one tensor of any shape with the features last, say so: "
    "inputs=lambda x: (x, mask), shape=(2, 8, 16), axis=1"
)
NEEDED = "normlint.testing needs torch: pip install 'normlint[verify]'"


class PrecisionWarning(UserWarning):
    """The warning for a norm that is right, but less precise in half precision than it could be."""


def assert_norm(  # noqa: PLR0913 — each says something that can't be derived from the norm
    norm: Callable[..., Any],
    kind: str | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    eps: float | None = None,
    axis: int = -1,
    shape: Sequence[int] | None = None,
    inputs: Callable[[Any], Any] | None = None,
    device: str | None = None,
    dtypes: Sequence[Any] | None = None,
    seed: int = 0,
) -> None:
    """Raise AssertionError, with a table of all probes, if the module or function doesn't compute the norm it should.

    `kind`: "rms", "layer" or "l2"; by default guessed from its type, name or output. `reference`: a correct module or
    function whose outputs and gradients are compared, with the same parameters, instead of a definition's. `eps`: the
    expected eps; by default the one the norm stores. `axis`: the axis of the features. `shape`: the only input shape
    that the norm accepts. `inputs`: a function that makes all its arguments, a tuple or a dict of keywords, from the
    tensor to normalise. `device`: by default that of its parameters. `dtypes`: by default fp32, fp16 and bf16. `seed`:
    of the random inputs and gains. Raise ValueError for arguments that don't fit, and warn with PrecisionWarning if the
    norm only loses precision in half precision. The norm is never changed.
    """
    try:
        from normlint.verify.bench import against, guess
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(NEEDED) from error
    _checked(kind, reference, axis, shape)
    asked = guess.Asked(kind, eps, axis, None if shape is None else tuple(shape), inputs)
    if reference is None:
        found = guess.verdict(norm, asked, device, dtypes, seed)
    else:
        found = against.verdict(norm, reference, asked, device, dtypes, seed)
    if found.status == PRECISION:
        warnings.warn(found.reason, PrecisionWarning, stacklevel=2)
    if found.status in (WRONG, SKIPPED):
        hint = "" if inputs or shape or not _raised(found.probes) else HINT
        raise AssertionError(f"{_name(norm)}: {found.reason}{hint}\n\n{table(found.probes)}".rstrip())


def _checked(kind: str | None, reference: Callable[..., Any] | None, axis: int, shape: Sequence[int] | None) -> None:
    if kind not in (None, *KINDS):
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}")
    if kind and reference is not None:
        raise ValueError("kind and reference cannot be combined: the norm is compared with one of them")
    if shape is not None and not -len(shape) <= axis < len(shape):
        raise ValueError(f"axis {axis} is not an axis of shape {tuple(shape)}")


def _raised(probes: Sequence[Probe]) -> bool:
    """Return whether the norm raised on the first, plain input."""
    return bool(probes) and not probes[0].passed and ": raises " in probes[0].message


def table(probes: Sequence[Probe]) -> str:
    """Return the probes as a text table, in which the failed ones are marked `x` and have their messages."""
    cells = [("", "probe", "dtype", "error", "limit", "")]
    cells += [("" if p.passed else "x", p.probe, p.dtype, f"{p.error:.3g}", f"{p.limit:g}", p.message) for p in probes]
    widths = [max(len(row[n]) for row in cells) for n in range(5)]
    lines = ("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[5]]) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def _name(norm: Any) -> str:
    inner = getattr(norm, "_orig_mod", norm)
    return getattr(inner, "__name__", type(inner).__name__)
