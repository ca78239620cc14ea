"""What a defect is: a change of one choice; and the groups of phrases that several defects speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.grid.endings import CASTS, GAINS
from tests.grid.recipe import STRUCTURES, Options
from tests.grid.spellings import REDUCTIONS, UNSOUND

Fixed = Mapping[str, Options]


@dataclass(frozen=True, slots=True)
class Defect:
    """`change` puts these phrases in place of the sound ones; `only` says where the defect makes sense.

    `where`: the steps of which one holds the finding (empty: anywhere). `repeats`: the same mistake is made twice.
    """

    code: str
    phrase: str
    change: Fixed
    only: Fixed = field(default_factory=dict)
    where: Options = ()
    repeats: bool = False


def reductions(*families: str) -> Options:
    """The sound reductions of these families."""
    return tuple(n for n, red in REDUCTIONS.items() if red.family in families and n not in UNSOUND)


def phrases(table: Mapping[str, object], start: str, *ends: str) -> Options:
    """The table's phrases from `start` to the end whose names end in one of `ends`."""
    names = tuple(table)
    return tuple(n for n in names[names.index(start) :] if n.endswith(ends or ("",)))


MODULES: Final = tuple(s for s in STRUCTURES if s != "a pure function")
SQUARED: Final = reductions("mean", "sum")
CAST: Final = ("x cast in place", "a fresh name", "x cast if half", "in the statistic only", "by the caller")
NATIVE: Final = ("no wrapping", "autocast switched off")
GAINED: Final = tuple(n for n, g in GAINS.items() if g.form not in ("none", "unused"))
PLAIN: Final = tuple(n for n, g in GAINS.items() if g.form in ("plain", "first") and not g.test)
OFFSET: Final = tuple(n for n, g in GAINS.items() if g.form == "offset")
FRESH_GAINS: Final = tuple(n for n, g in GAINS.items() if g.form != "first" and n != "y.mul_(w)" and g.form != "unused")
ROOMY: Final = ("1e-6", "1e-5")
GLOBAL_SQUARED: Final = (
    "mean() over everything",
    "torch.mean(v) over everything",
    "mean(dtype=) over everything",
    "sum() over everything",
    "torch.sum(v) over everything",
)
GLOBAL_COUNTS: Final = (
    "a mean",
    "over shape[-1]",
    "over size(-1)",
    "over self.dim",
    "over numel",
    "times D ** -0.5",
    "over D ** 0.5",
    "over math.sqrt(D)",
    "a variance",
)
RMS: Final[Fixed] = {"kind": ("rms",)}
LAYER: Final[Fixed] = {"kind": ("layer",)}
STATISTIC: Final = ("statistic", "reduction", "product")
WRONG_AXES: Final = ("axis 0", "axis -2", "axes 0 and 1", "axes 1 and 2", "axes -2 and -1")
ALIASES: Final = tuple(n for n in CASTS if n != ".double()")
