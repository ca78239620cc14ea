"""Two defects in one norm, wherever both can be there at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from tests.grid.cases import Case, extras, sentence
from tests.grid.compose import compose
from tests.grid.covering import Dice, draw
from tests.grid.defect import Defect
from tests.grid.defects import DEFECTS
from tests.grid.recipe import Options, Recipe

TRIES: Final = 40
SAID: Final = "{first.code} {first.phrase} + {second.code} {second.phrase}"


def pairs() -> Iterator[tuple[Defect, Defect]]:
    """Those that change different choices."""
    for first, second in combinations(DEFECTS, 2):
        if not first.change.keys() & second.change.keys():
            yield first, second


def _allowed(first: Defect, second: Defect) -> Mapping[str, Options] | None:
    """What both leave of each choice; None where nothing is left."""
    found = dict(first.only)
    for field, phrases in second.only.items():
        found[field] = tuple(one for one in found.get(field, phrases) if one in phrases)
    for defect in (first, second):
        for field, phrases in defect.change.items():
            if field in found:
                found[field] = tuple(one for one in phrases if one in found[field])
    return found if all(found.values()) else None


def pair_cases(first: Defect, second: Defect, most: int) -> list[Case]:
    """So many norms with both defects, or as many as a few draws bring."""
    allowed = _allowed(first, second)
    if allowed is None:
        return []
    name = SAID.format(first=first, second=second)
    dice, found = Dice(name), dict[str, Case]()
    for _ in range(TRIES * most):
        recipe = draw(dice, {**first.change, **second.change}, allowed)
        if recipe is not None:
            one = _case(name, recipe, first, second)
            found.setdefault(one.text, one)
        if len(found) >= most:
            break
    return list(found.values())


def _case(name: str, recipe: Recipe, first: Defect, second: Defect) -> Case:
    return Case(
        id=f"{name}: {sentence(recipe)}",
        text=compose(recipe).text,
        kind=recipe.kind,
        codes=tuple(dict.fromkeys((first.code, second.code))),
        extras=extras(recipe),
        where=(),
        repeats=True,
        defect=name,
        recipe=recipe,
    )


def all_pairs(most: int) -> Iterator[Case]:
    """Every pair, `most` times."""
    for first, second in pairs():
        yield from pair_cases(first, second, most)
