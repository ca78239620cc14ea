"""The cases: at least a thousand sound ones, and every defect among its spellings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from tests.grid.compose import compose
from tests.grid.covering import cover
from tests.grid.defect import Defect
from tests.grid.defects import DEFECTS, DOUBTFUL
from tests.grid.endings import ROOTS
from tests.grid.recipe import Recipe

SOUND: Final = 1400
SWEEP: Final = 20000
PER_DEFECT: Final = 90


@dataclass(frozen=True, slots=True)
class Case:
    """A text, what must be reported on it, and what it was made from.

    `codes` are the rules on by default that must report, and no others; `extras` off-by-default ones that must.
    `where`: a finding lies inside one of these stretches of text (empty: anywhere).
    """

    id: str
    text: str
    kind: str
    codes: tuple[str, ...]
    extras: tuple[str, ...]
    where: tuple[str, ...]
    repeats: bool
    defect: str
    recipe: Recipe

    @property
    def group(self) -> str:
        """The defect and the structure it stands in."""
        return f"{self.defect} in {self.recipe.structure}"


def sentence(r: Recipe) -> str:
    """The recipe in words."""
    square = f"{r.square} under " if r.squares else ""
    said = [
        f"{r.kind} in {r.structure}", r.imports, r.names, r.flow, f"{square}{r.reduction}", r.count, f"over {r.axis}",
        r.keep, f"centred by {r.centre} as {r.subtract}", r.sides, r.variance, r.join, r.eps_from, r.eps_value, r.ctor,
        r.root, r.apply, f"{r.cast_at} {r.cast}", f"{r.back} {r.back_at}", r.gain, r.init, r.bias, r.wrap, r.grad,
        r.narrow, r.noise,
    ]  # fmt: skip
    dull = (
        "centred by no centre as no centre",
        "centred on both sides",
        "two passes",
        "no constructor",
        "no wrapping",
        "gradients kept",
        "never narrowed",
        "silent",
        "no parameter",
        "no bias",
    )
    return ", ".join(phrase for phrase in said if phrase not in dull)


def extras(r: Recipe) -> tuple[str, ...]:
    """Rules off by default that must report a recipe, whatever its defect."""
    found = []
    if r.cast_at == "nowhere" and r.family in ("norm", "normalize"):
        found.append("NRM206")
    if r.cast_at == "nowhere" and r.family == "normalize" and "eps" not in r.reduction:
        found.append("NRM305")
    root = ROOTS[r.root]
    if root.power == 1 and root.text.count("sqrt(") == 1 and "rsqrt" not in root.text:
        found.append("NRM601")
    return tuple(found)


def case(recipe: Recipe, defect: Defect | None) -> Case:
    """The recipe as a case."""
    composed = compose(recipe)
    name = f"{defect.code} {defect.phrase}" if defect else "sound"
    where = {composed.marks[step]: None for step in (defect.where if defect else ()) if composed.marks.get(step)}
    return Case(
        id=f"{name}: {sentence(recipe)}",
        text=composed.text,
        kind=recipe.kind,
        codes=(defect.code,) if defect else (),
        extras=extras(recipe) if defect is None else (),
        where=tuple(where),
        repeats=defect.repeats if defect else False,
        defect=name,
        recipe=recipe,
    )


def _distinct(found: list[Case]) -> list[Case]:
    texts: dict[str, Case] = {}
    for one in found:
        texts.setdefault(one.text, one)
    return list(texts.values())


@cache
def sound_cases() -> tuple[Case, ...]:
    """Norms nothing is wrong with."""
    return tuple(_distinct([case(r, None) for r in cover("sound", {}, {}, most=SOUND, draws=SWEEP)]))


def _with(defects: tuple[Defect, ...]) -> Iterator[Case]:
    for defect in defects:
        rows = cover(f"{defect.code} {defect.phrase}", defect.change, defect.only, most=PER_DEFECT)
        yield from _distinct([case(r, defect) for r in rows])


@cache
def defect_cases() -> tuple[Case, ...]:
    """Norms with one thing wrong."""
    return tuple(_with(DEFECTS))


def doubtful_cases() -> tuple[Case, ...]:
    """Norms on whose code opinions may differ: for people to look at."""
    return tuple(_with(DOUBTFUL))


def all_cases() -> tuple[Case, ...]:
    """The grid."""
    return (*sound_cases(), *defect_cases())
