"""`assert_norm`: a norm of your own, checked against an independent reference in your own tests."""

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
    """The norm is right, but less precise in half precision than it could be."""


def assert_norm(  # noqa: PLR0913 — each says something that can't be read off the norm
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
    """AssertionError if the module or function doesn't compute the norm it should, with every probe that was tried.

    `kind`: "rms", "layer" or "l2"; without it, its type, name or output tells. `reference`: a module or function that
    is right, to compare with instead of a definition: outputs and gradients, with the same parameters. `eps`: the one
    that must act; without it, the one the norm stores. `axis`: where the features lie. `shape`: the only shape it
    takes. `inputs`: makes all its arguments of the tensor to normalise: a tuple, or a dict of keywords. `device`: that
    of its parameters. `dtypes`: fp32, fp16 and bf16. `seed`: of the random inputs and gains. ValueError for arguments
    that don't fit. A norm that only loses precision in half gives a PrecisionWarning. The norm is never changed.
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
    """Whether the norm raised on the first, plain input."""
    return bool(probes) and not probes[0].passed and ": raises " in probes[0].message


def table(probes: Sequence[Probe]) -> str:
    """The probes as a table: those that failed are marked, with their messages."""
    cells = [("", "probe", "dtype", "error", "limit", "")]
    cells += [("" if p.passed else "x", p.probe, p.dtype, f"{p.error:.3g}", f"{p.limit:g}", p.message) for p in probes]
    widths = [max(len(row[n]) for row in cells) for n in range(5)]
    lines = ("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[5]]) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def _name(norm: Any) -> str:
    inner = getattr(norm, "_orig_mod", norm)
    return getattr(inner, "__name__", type(inner).__name__)
