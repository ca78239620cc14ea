"""Bind the arguments of a call to parameters as Python does, for functions of the text and of torch.

If a call unpacks something unknown (`*args`, `**kwargs`), the parameters that it may fill are unknown: they have
neither a value nor their default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from normlint.text.frozen import dataclass

if TYPE_CHECKING:
    from normlint.evaluate.ops.signatures import Param
    from normlint.evaluate.syntax import Parameter

V = TypeVar("V")


Parameters: TypeAlias = "Sequence[Parameter] | Sequence[Param]"  # of a function of the text, or of torch


@dataclass(frozen=True, slots=True)
class Args(Generic[V]):
    """The arguments of a call. `rest`: unknown positional ones follow; `more`: there are unknown keywords.

    `loose` holds the positional arguments from the first unknown one on, whose places aren't known.
    """

    positional: tuple[V, ...] = ()
    keywords: dict[str, V] = field(default_factory=dict)
    rest: bool = False
    more: bool = False
    loose: tuple[V, ...] = ()

    def after(self, *first: V) -> Args[V]:
        """Return the arguments with others before them, such as the receiver of a method."""
        return Args((*first, *self.positional), self.keywords, self.rest, self.more, self.loose)

    def joined(self, other: Args[V]) -> Args[V]:
        """Return these arguments followed by the other ones, as functools.partial passes them."""
        keywords, more = {**self.keywords, **other.keywords}, self.more or other.more
        if self.rest:
            return Args(self.positional, keywords, True, more, self.loose + other.positional + other.loose)
        return Args(self.positional + other.positional, keywords, other.rest, more, other.loose)

    @property
    def values(self) -> tuple[V, ...]:
        """The arguments with a known place or a name, in order."""
        return (*self.positional, *self.keywords.values())


@dataclass(frozen=True, slots=True)
class Fit(Generic[V]):
    """Arguments by the name of their parameter.

    `unknown` parameters may have been given something unknown. `star` and `extra` are the values of `*args` and
    `**kwargs`. Errors are `unexpected` keywords, parameters given `twice`, `missing` parameters, and the number of
    `surplus` positional arguments.
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
        """Whether Python would accept the call, as far as it is known."""
        return not (self.unexpected or self.twice or self.missing or self.surplus)

    def refusal(self, name: str) -> str:
        """Return in words why a function of this name doesn't accept the call; empty if it does."""
        if self.unexpected:
            return f"`{name}` takes no `{self.unexpected[0]}`"
        if self.surplus:
            return f"`{name}` takes {self.surplus} fewer argument{'s' * (self.surplus > 1)}"
        if self.twice:
            return f"`{name}` is given `{self.twice[0]}` twice"
        return f"`{name}` needs `{self.missing[0]}`" if self.missing else ""


def fit(params: Parameters, args: Args[V]) -> Fit[V]:
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


def _unknown(params: Parameters, args: Args[V], given: set[str]) -> frozenset[str]:
    """Return the parameters, also `*args` and `**kwargs`, that something unknown may fill."""
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
    """Return the index, or slice if starred, of `count` values for each unpacking target; None if they don't fit."""
    if True not in starred:
        return [*range(count)] if count == len(starred) else None
    star = starred.index(True)
    end = count - (len(starred) - star - 1)
    return [*range(star), slice(star, end), *range(end, count)] if star <= end else None
