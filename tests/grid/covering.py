"""Enough recipes that every pair of choices that can meet does meet: greedy, and the same every time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.grid.endings import APPLIES, JOINS, ROOTS
from tests.grid.recipe import FIELDS, Options, Recipe
from tests.grid.spellings import COUNTS

Choice = tuple[str, str]
ATTEMPTS: Final = 8
PATIENCE: Final = 25


class Dice:
    """A small linear congruential generator, so that no Python version deals differently."""

    def __init__(self, seed: str) -> None:
        self.state: int = sum(ord(c) * 31**i for i, c in enumerate(seed)) % 2**61

    def pick(self, choices: Options) -> str:
        """One of them."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return choices[(self.state >> 33) % len(choices)]


def fits(field: str, phrase: str, r: Recipe) -> bool:
    """Whether a phrase, sound or not, suits the fields before it."""
    if field == "count":
        return COUNTS[phrase].family == r.family and (r.has_self or not COUNTS[phrase].needs_self)
    if field == "join":
        return JOINS[phrase].power == r.power
    if field == "root":
        return ROOTS[phrase].power == r.power
    if field == "apply":
        return APPLIES[phrase][0] == ROOTS[r.root].sense
    return True


def draw(dice: Dice, change: Mapping[str, Options], only: Mapping[str, Options]) -> Recipe | None:
    """One recipe: `change` puts other phrases in a field's place, `only` leaves fewer; None if nothing fits."""
    recipe = Recipe()
    for field, options in FIELDS.items():
        found = tuple(n for n in change[field] if fits(field, n, recipe)) if field in change else options(recipe)
        if field in only:
            found = tuple(n for n in found if n in only[field])
        if not found:
            return None
        object.__setattr__(recipe, field, dice.pick(found))  # nobody else holds it yet; replace() is slow
    for field, phrases in change.items():
        if field not in FIELDS:
            object.__setattr__(recipe, field, dice.pick(phrases))
    return recipe


class Seen:
    """The pairs of choices that have met: of each choice, by its number, the bits of those that it has met."""

    def __init__(self) -> None:
        self._numbers: dict[Choice, int] = {}
        self._met: list[int] = []

    def fresh(self, recipe: Recipe) -> int:
        """How many pairs of the recipe have not met before."""
        numbers = self._choices(recipe)
        bits = sum(1 << number for number in numbers)
        return sum((bits & ~self._met[number]).bit_count() for number in numbers) // 2

    def add(self, recipe: Recipe) -> None:
        """Its choices have met."""
        numbers = self._choices(recipe)
        bits = sum(1 << number for number in numbers)
        for number in numbers:
            self._met[number] |= bits

    def _choices(self, recipe: Recipe) -> list[int]:
        return [self._number((field, getattr(recipe, field))) for field in FIELDS]

    def _number(self, choice: Choice) -> int:
        if choice not in self._numbers:
            number = self._numbers[choice] = len(self._met)
            self._met.append(1 << number)  # a choice is no pair with itself
        return self._numbers[choice]


def _best(dice: Dice, seen: Seen, change: Mapping[str, Options], only: Mapping[str, Options]) -> Recipe | None:
    """Of a few draws, the one with most pairs not seen yet."""
    best: Recipe | None = None
    most = 0
    for _ in range(ATTEMPTS):
        recipe = draw(dice, change, only)
        fresh = seen.fresh(recipe) if recipe else 0
        if fresh > most:
            best, most = recipe, fresh
    return best


def sweep(dice: Dice, found: dict[Recipe, None], seen: Seen, draws: int) -> None:
    """Add whatever meets a rare pair."""
    for _ in range(draws):
        recipe = draw(dice, {}, {})
        if recipe and seen.fresh(recipe):
            found[recipe] = None
            seen.add(recipe)


def cover(
    seed: str, change: Mapping[str, Options], only: Mapping[str, Options], *, most: int, draws: int = 0
) -> list[Recipe]:
    """`most` recipes, new pairs first, and those met in so many `draws` more (for sound recipes)."""
    dice, seen, found = Dice(seed), Seen(), dict[Recipe, None]()
    idle = 0
    while len(found) < most and idle < PATIENCE:
        recipe = _best(dice, seen, change, only)
        if recipe is None:
            recipe = draw(dice, change, only)
        if recipe is None or recipe in found:
            idle += 1
            continue
        idle = 0
        found[recipe] = None
        seen.add(recipe)
    sweep(dice, found, seen, draws)
    return list(found)
