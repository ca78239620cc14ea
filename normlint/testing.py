"""`assert_norm`: a norm of your own, checked against an independent reference in your own tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from normlint.text.verdict import PRECISION, SKIPPED, WRONG, Probe

NEEDED = "normlint.testing needs torch: pip install 'normlint[verify]'"


class PrecisionWarning(UserWarning):
    """The norm is right, but less precise in half precision than it could be."""


def assert_norm(  # each says something that can't be read off the norm
    norm: Callable[..., Any],
    kind: str | None = None,
    *,
    eps: float | None = None,
    axis: int = -1,
    device: str | None = None,
    dtypes: Sequence[Any] | None = None,
) -> None:
    """AssertionError if the module or function doesn't compute the norm it should, with every probe that was tried.

    `kind`: "rms", "layer" or "l2"; without it, its type, name or output tells. `eps`: the one that must act; without
    it, the one the norm stores. `axis`: where the features lie. `device`: that of its parameters. `dtypes`: fp32, fp16
    and bf16. A norm that only loses precision in half gives a PrecisionWarning. The norm itself is never changed.
    """
    try:
        from normlint.verify.bench.guess import Asked, verdict
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(NEEDED) from error
    found = verdict(norm, Asked(kind, eps, axis), device, dtypes)
    if found.status == PRECISION:
        warnings.warn(found.reason, PrecisionWarning, stacklevel=2)
    if found.status in (WRONG, SKIPPED):
        raise AssertionError(f"{_name(norm)}: {found.reason}\n\n{table(found.probes)}".rstrip())


def table(probes: Sequence[Probe]) -> str:
    """The probes, aligned: what failed is marked and told."""
    cells = [("", "probe", "dtype", "error", "limit", "")]
    cells += [("" if p.passed else "x", p.probe, p.dtype, f"{p.error:.3g}", f"{p.limit:g}", p.told) for p in probes]
    widths = [max(len(row[n]) for row in cells) for n in range(5)]
    lines = ("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[5]]) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def _name(norm: Any) -> str:
    inner = getattr(norm, "_orig_mod", norm)
    return getattr(inner, "__name__", type(inner).__name__)
