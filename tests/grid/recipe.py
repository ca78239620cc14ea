"""A recipe: one phrase for each choice, and which phrases go together.

`FIELDS` lists what each field may be when the fields before it are settled; picking the fields in this order never
leads into a corner, except for a few that answer with nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.grid.endings import APPLIES, BIASES, CASTS, GAINS, INITS, JOINS, ROOTS
from tests.grid.spellings import CENTRES, COUNTS, KEEPS, REDUCTIONS, SQUARES, SUBTRACTS, UNSOUND

Options = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """One phrase for each choice; the last five are sound unless a defect says otherwise."""

    kind: str = "rms"
    structure: str = "one forward"
    imports: str = "plain imports"
    names: str = "short names"
    flow: str = "locals"
    reduction: str = "mean(-1, keepdim)"
    square: str = "x.pow(2)"
    count: str = "a mean"
    axis: str = "the last axis"
    keep: str = "kept"
    centre: str = "no centre"
    subtract: str = "no centre"
    join: str = "_ + eps"
    root: str = "torch.rsqrt"
    apply: str = "x * r"
    eps_from: str = "self.eps"
    eps_value: str = "1e-6"
    ctor: str = "dim and eps"
    cast_at: str = "x cast in place"
    cast: str = ".float()"
    back_at: str = "before the gain"
    back: str = ".to(input_dtype)"
    gain: str = "w * y"
    bias: str = "no bias"
    init: str = "ones"
    wrap: str = "no wrapping"
    sides: str = "centred on both sides"
    variance: str = "two passes"
    grad: str = "gradients kept"
    narrow: str = "never narrowed"
    noise: str = "silent"

    @property
    def family(self) -> str:
        """Which statistic: mean, sum, norm, normalize, var, var_mean or std."""
        return REDUCTIONS[self.reduction].family

    @property
    def squares(self) -> bool:
        """Whether the squares are spelled out."""
        return self.family in ("mean", "sum")

    @property
    def power(self) -> float:
        """Which power of the mean square the statistic is: 1, 0.5 or (F.normalize) 0."""
        return COUNTS[self.count].power

    @property
    def module(self) -> bool:
        """A class, not a function."""
        return self.structure != "a pure function"

    @property
    def has_self(self) -> bool:
        """Whether the code that takes the statistic sees `self`."""
        return self.structure not in ("a pure function", "a static helper", "a module-level helper")

    @property
    def helper(self) -> bool:
        """Whether the norm is computed in a helper that forward calls."""
        return self.structure in HELPERS

    @property
    def x_rebound(self) -> bool:
        """Whether, where it is cast back, the input's name stands for something else by now."""
        if self.flow == "rebinding":
            return True
        same_scope = not self.helper or self.back_at == "in the helper"
        return same_scope and self.cast_at in ("x cast in place", "x cast if half")


HELPERS: Final = (
    "a helper method",
    "a static helper",
    "a module-level helper",
    "a nested function",
    "a helper of the base class",
)
STRUCTURES: Final = ("one forward", *HELPERS, "attributes of a base class", "a method for the scale", "a pure function")
UPCAST: Final = ("x cast in place", "a fresh name", "x cast if half")
WHOLE: Final = ("mean", "sum", "norm", "normalize")
LAYERED: Final = ("mean", "sum", "var", "var_mean", "std")


def sound(table: dict[str, str]) -> Options:
    """The table's sound phrases."""
    return tuple(name for name in table if name not in UNSOUND)


def _structures(r: Recipe) -> Options:
    return STRUCTURES if r.kind == "rms" else tuple(s for s in STRUCTURES if s != "a method for the scale")


def _reductions(r: Recipe) -> Options:
    families: Options = WHOLE if r.kind == "rms" else LAYERED
    if r.structure == "a method for the scale":
        families = ("mean", "sum", "norm")
    return tuple(n for n, red in REDUCTIONS.items() if n not in UNSOUND and red.family in families)


def _counts(r: Recipe) -> Options:
    return tuple(
        n
        for n, count in COUNTS.items()
        if n not in UNSOUND and count.family == r.family and (r.has_self or not count.needs_self)
    )


def _axes(r: Recipe) -> Options:
    plain: Options = ("the last axis",)
    if r.family != "normalize":
        plain = (*plain, "a tuple of the last axis", "a list of the last axis")
    if not r.has_self:
        return plain
    return (*plain, "self.axis", "a class's AXIS", *(() if r.family == "normalize" else ("the axes of self.shape",)))


def _keeps(r: Recipe) -> Options:
    return ("kept",) if r.family in ("normalize", "var_mean") else sound(KEEPS)


def _centres(r: Recipe) -> Options:
    if r.kind == "rms" or r.family == "var_mean":
        return ("no centre",)
    return tuple(n for n in sound(CENTRES) if n != "sum over D" or r.axis != "the axes of self.shape")


def _joins(r: Recipe) -> Options:
    unsound = ("no eps", "no eps with the norm", "deviation + eps")
    return tuple(n for n, j in JOINS.items() if j.power == r.power and not j.outside and n not in unsound)


def _roots(r: Recipe) -> Options:
    last = tuple(ROOTS).index("over torch.rsqrt")
    return tuple(n for n in tuple(ROOTS)[:last] if ROOTS[n].power == r.power)


def _applies(r: Recipe) -> Options:
    return tuple(n for n, (sense, text) in APPLIES.items() if sense == ROOTS[r.root].sense and not in_place(text))


def in_place(template: str) -> bool:
    """Whether a template writes to what it is given."""
    return "_(" in template or ("= " in template and template.endswith("_}"))


def _eps_from(r: Recipe) -> Options:
    if r.power == 0 and "eps" not in r.reduction:
        return ("eps nowhere",)
    if not r.module:
        return ("an eps parameter", "a literal eps", "a module's EPS")
    own = ("self.eps", "self.variance_epsilon", "an eps set in __init__", "a literal eps", "a module's EPS")
    return (*own, "a class's EPS") if r.structure != "a module-level helper" else own


def _ctors(r: Recipe) -> Options:
    if not r.module:
        return ("no constructor",)
    return ("dim and eps", "hidden_size and eps", "a config", "annotated, keyword-only eps")


def _cast_at(r: Recipe) -> Options:
    places: Options = UPCAST
    if r.kind == "rms" and r.family != "normalize":
        places = (*places, "in the statistic only")
    if r.helper and r.structure != "a nested function":
        places = (*places, "by the caller")
    if r.family in ("norm", "normalize") and r.power != 1:
        places = (*places, "nowhere")
    return places


def _casts(r: Recipe) -> Options:
    return ("no cast",) if r.cast_at == "nowhere" else tuple(n for n in CASTS if n != "no cast")


def _eps_values(r: Recipe) -> Options:
    return ("1e-6", "1e-5") if r.cast_at == "nowhere" else ("1e-6", "1e-5", "1e-8")


def _back_at(r: Recipe) -> Options:
    if r.cast_at == "nowhere":
        return ("nowhere",)
    places = ("before the gain", "after the gain")
    return (*places, "in the helper") if r.helper and r.cast_at != "by the caller" else places


def _backs(r: Recipe) -> Options:
    if r.back_at == "nowhere":
        return ("never cast back",)
    saved = (".to(input_dtype)", ".to(dtype=input_dtype)", ".type(input_dtype)")
    return saved if r.x_rebound else (*saved, ".type_as(x)", ".to(x.dtype)", ".to(dtype=x.dtype)")


def _gains(r: Recipe) -> Options:
    found = [n for n, g in GAINS.items() if g.form != "unused"]
    if r.back_at != "after the gain":
        found = [n for n in found if not GAINS[n].after]
    if r.power == 0 or r.structure in (*HELPERS, "a method for the scale") or r.cast_at not in UPCAST:
        found = [n for n in found if GAINS[n].form != "first"]
    if not r.module:
        found = [n for n in found if not GAINS[n].test]
    return tuple(found)


def _biases(r: Recipe) -> Options:
    if r.kind == "rms" or GAINS[r.gain].form == "none":
        return ("no bias",)
    return tuple(n for n in BIASES if "never" not in n)


def _inits(r: Recipe) -> Options:
    gain = GAINS[r.gain]
    if not r.module or gain.form == "none":
        return ("no parameter",)
    form = "offset" if gain.form == "offset" else "plain"
    named = [n for n, (f, _) in INITS.items() if f == form]
    return tuple(n for n in named if not gain.test or INITS[n][1].startswith(("nn.", "torch.")))


def _wraps(r: Recipe) -> Options:
    found: Options = ("no wrapping", "autocast switched off")
    own_eps = r.eps_from in ("self.eps", "self.variance_epsilon") and r.power == 1
    if r.module and own_eps and GAINS[r.gain].form == "plain" and not GAINS[r.gain].test:
        found = (*found, "a fused path beside it")
    return found


FIELDS: Final[dict[str, Callable[[Recipe], Options]]] = {
    "kind": lambda r: ("rms", "layer"),
    "structure": _structures,
    "imports": lambda r: (
        "plain imports",
        "nn and F by import as",
        "from torch import nn",
        "torch as t",
        "rsqrt by name",
    ),
    "names": lambda r: ("short names", "long names", "other names"),
    "flow": lambda r: ("locals", "one expression", "rebinding", "step by step"),
    "reduction": _reductions,
    "square": lambda r: sound(SQUARES) if r.squares else ("x.pow(2)",),
    "count": _counts,
    "axis": _axes,
    "keep": _keeps,
    "centre": _centres,
    "subtract": lambda r: ("no centre",) if r.kind == "rms" else sound(SUBTRACTS),
    "join": _joins,
    "root": _roots,
    "apply": _applies,
    "eps_from": _eps_from,
    "ctor": _ctors,
    "cast_at": _cast_at,
    "cast": _casts,
    "eps_value": _eps_values,
    "back_at": _back_at,
    "back": _backs,
    "gain": _gains,
    "bias": _biases,
    "init": _inits,
    "wrap": _wraps,
}
