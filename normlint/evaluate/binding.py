"""Which parameter each argument of a call fills, as Python does it: for the text's own functions and for torch's.

What a value is doesn't matter here. Where a call unpacks something that isn't known (`*args`, `**kwargs`), the
parameters that it may fill are unknown: they have neither a value nor their default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from normlint.text.frozen import dataclass

V = TypeVar("V")


class Parameter(Protocol):
    """`star` is "", "*" or "**"; `keyword` says keyword-only, `places` positional-only."""

    @property
    def name(self) -> str: ...
    @property
    def star(self) -> str: ...
    @property
    def keyword(self) -> bool: ...
    @property
    def places(self) -> bool: ...
    @property
    def default(self) -> object | None: ...


@dataclass(frozen=True, slots=True)
class Args(Generic[V]):
    """What a call passes. `rest`: an unknown number of values after the positional ones; `more`: unknown keywords.

    `loose` is what is written from there on: what is unpacked, and values whose place isn't known.
    """

    positional: tuple[V, ...] = ()
    keywords: dict[str, V] = field(default_factory=dict)
    rest: bool = False
    more: bool = False
    loose: tuple[V, ...] = ()

    def after(self, *first: V) -> Args[V]:
        """The same with other values before them, such as the receiver of a method."""
        return Args((*first, *self.positional), self.keywords, self.rest, self.more, self.loose)

    def joined(self, other: Args[V]) -> Args[V]:
        """These and then the other's, as functools.partial passes them."""
        keywords, more = {**self.keywords, **other.keywords}, self.more or other.more
        if self.rest:
            return Args(
                self.positional, keywords, rest=True, more=more, loose=self.loose + other.positional + other.loose
            )
        return Args(self.positional + other.positional, keywords, other.rest, more, other.loose)

    @property
    def values(self) -> tuple[V, ...]:
        """All that is passed and has a place or a name, in order."""
        return (*self.positional, *self.keywords.values())


@dataclass(frozen=True, slots=True)
class Fit(Generic[V]):
    """Arguments by the name of their parameter.

    `unknown` are parameters that may have been given something unknown. `star` and `extra` are what `*args` and
    `**kwargs` of the function hold. What Python would refuse: `unexpected` keywords, those given `twice`, `missing`
    parameters and `surplus` positional arguments.
    """

    values: dict[str, V]
    star: tuple[V, ...] = ()
    extra: dict[str, V] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    unexpected: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    surplus: int = 0

    @property
    def accepted(self) -> bool:
        """Python would take the call, as far as it is known."""
        return not (self.unexpected or self.twice or self.missing or self.surplus)


def fit(params: Sequence[Parameter], args: Args[V]) -> Fit[V]:
    """Bind the arguments of a call to the parameters of a function."""
    places = [p for p in params if not p.star and not p.keyword]
    values = {p.name: value for p, value in zip(places, args.positional, strict=False)}
    over = args.positional[len(places) :]
    starred = any(p.star == "*" for p in params)
    named = {p.name for p in params if not p.star and not p.places}
    taking = any(p.star == "**" for p in params)
    extra: dict[str, V] = {}
    unexpected, twice = [], []
    for name, value in args.keywords.items():
        if name in named and name in values:
            twice.append(name)
        elif name in named:
            values[name] = value
        elif taking:
            extra[name] = value
        else:
            unexpected.append(name)
    unknown = _unknown(params, args, values.keys() | ({"*"} if over else set()))
    missing = [p.name for p in params if not p.star and p.default is None and p.name not in values.keys() | unknown]
    return Fit(
        values, (*over, *args.loose) if starred else (), extra, unknown,
        tuple(unexpected), tuple(twice), tuple(missing), 0 if starred else len(over),
    )  # fmt: skip


def _unknown(params: Sequence[Parameter], args: Args[V], given: set[str]) -> frozenset[str]:
    """Parameters that something unknown may fill; `*args` and `**kwargs` among them."""
    if not args.rest and not args.more:
        return frozenset()
    found = set()
    for p in params:
        by_place = args.rest and not p.keyword and p.star != "**"
        by_name = args.more and not p.places and p.star != "*"
        if (by_place or by_name) and p.name not in given:
            found.add(p.name)
    return frozenset(found)


def spread(starred: Sequence[bool], count: int) -> list[int | slice] | None:
    """Where `count` values go that are unpacked into as many targets, one of them starred; None: they don't fit."""
    if True not in starred:
        return [*range(count)] if count == len(starred) else None
    star = starred.index(True)
    end = count - (len(starred) - star - 1)
    return [*range(star), slice(star, end), *range(end, count)] if star <= end else None
