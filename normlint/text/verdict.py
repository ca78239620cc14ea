"""Define the results of running a norm, as plain data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from normlint.text.frozen import dataclass

if TYPE_CHECKING:
    from normlint.text.sweep import Sweep

MATCH: Final = "match"
PRECISION: Final = "precision"
WRONG: Final = "wrong"
SKIPPED: Final = "skipped"
WEIGHT: Final = {SKIPPED: 0, MATCH: 1, PRECISION: 2, WRONG: 3}  # the worse, the more
PLAIN: Final = "plain"  # the probe of ordinary inputs
EFFECTIVE_EPS: Final = "effective eps"  # the probe of rows so small that eps matters
INTERNAL: Final = "internal error of normlint"  # the reason starts with it if normlint itself failed


@dataclass(frozen=True, slots=True)
class Probe:
    """One check of a norm: `error` in units of the dtype's eps; `message` says what is wrong, or is empty."""

    probe: str
    dtype: str
    error: float
    limit: float
    message: str = ""

    @property
    def name(self) -> tuple[str, str]:
        """Return the probe and the dtype, by which the probes before and after a change are compared."""
        return self.probe, self.dtype

    @property
    def passed(self) -> bool:
        """Return whether the error is within the limit; NaN is not."""
        return self.error <= self.limit


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of running a norm: `status` is match, precision, wrong or skipped; `reason` is empty for a match.

    `given_eps` is the eps that the class or function was given, `effective_eps` the one that acts; None if not found.
    """

    status: str
    reason: str = ""
    device: str | None = None
    effective_eps: float | None = None
    given_eps: float | None = None
    eps_form: str = ""
    worst: Probe | None = None
    probes: tuple[Probe, ...] = ()
    sweep: Sweep | None = None  # for a report's charts, if asked for


def percent(share: float) -> str:
    """Return a share as text: 37 %, 0.4 %, 12 times."""
    if not math.isfinite(share):
        return "no finite amount"
    if share >= 10:
        return f"{share:.3g} times"
    return f"{share * 100:.2g} %" if share < 0.1 else f"{share * 100:.0f} %"
