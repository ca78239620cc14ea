"""Symbolic shapes of tensors, whose axes are counted from the front or from the end.

A length is a `Mono`: a number, a size that the text names, or a symbol created for one axis. Lengths that must be equal
are united (`Shapes.unite`), so that what is learned later also holds for tensors that were created before.

Shapes are learned from these sources only:

- a rank: `b, n, d = x.shape`, a test of `ndim` on this path, `permute`, the sizes of a view,
  the number of axes in an annotation, a docstring or a comment at the head of the function (`x: (B, T, C)`, "b n d");
- a minimum rank: an axis that is used (`x.shape[2]`, `transpose(1, 2)`, `x[:, :, None]`), or a gain with as many axes;
- a length: a product with a gain, a Linear or convolution, a matrix product, a tested equality, a view, or a sum;
- that the last axis holds the features: a gain of that length, a Linear, a matrix or a LayerNorm on the last axis, or
  the names of the axes (`b, n, d`).

Sources that contradict each other make the rank unknown. A length that isn't written as 1 is taken not to be 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from typing import TypeAlias

from normlint.evaluate.monomial import Layout, Mono, Scalar, Through, bears_data, bears_stat, mono_of, stats_of
from normlint.text.finding import Span
from normlint.text.frozen import dataclass

ONE_LONG = Mono()
MOST_MET = 8
MOST_AXES = 16  # axes of a shape
DEEPEST = 16  # steps of a shape, beyond which it is unknown
_CONTRADICTED = -1


@dataclass(frozen=True, slots=True)
class Free:
    """A shape of its own; `Shapes` holds what is known of it."""

    number: int
    unread: bool = False  # the result of an unknown operation, with any number of axes


@dataclass(frozen=True, slots=True)
class Exact:
    """A shape with all axes known; an unknown length is None."""

    lengths: tuple[Mono | None, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """The base with other lengths at some axes, as 1 after a reduction with keepdim."""

    base: Dims
    at: tuple[tuple[int, Mono | None], ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """The base without some axes."""

    base: Dims
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grown:
    """The base with a new axis of length 1; `at` is its index in the result."""

    base: Dims
    at: int


@dataclass(frozen=True, slots=True)
class Swapped:
    """The base with two axes exchanged."""

    base: Dims
    one: int
    two: int


Dims: TypeAlias = Free | Exact | Changed | Gone | Grown | Swapped
SCALAR = Exact(())


def without(dims: Dims, axes: tuple[int, ...]) -> Dims:
    """Return the shape without some axes."""
    if not axes:
        return dims
    return dims.base if isinstance(dims, Grown) and axes == (dims.at,) else Gone(dims, axes)


def with_new(dims: Dims, at: int) -> Dims:
    """Return the shape with a new axis of length 1, which may be one that was dropped before."""
    if isinstance(dims, Gone) and dims.axes == (at,):
        return Changed(dims.base, ((at, ONE_LONG),))
    return Grown(dims, at)


def _lineage(dims: Dims) -> Iterator[Dims]:
    """Yield a shape and, one after the other, those that it is derived from; the last one is `Free` or `Exact`."""
    yield dims
    while not isinstance(dims, Free | Exact):
        dims = dims.base
        yield dims


def depth(dims: Dims) -> int:
    """Return the number of steps from a shape to the `Free` or `Exact` one that it is derived from."""
    return sum(1 for _ in _lineage(dims)) - 1


def is_unread(dims: Dims) -> bool:
    """Return whether a shape is derived from the result of an unknown operation."""
    return any(isinstance(one, Free) and one.unread for one in _lineage(dims))


@lru_cache(maxsize=4096)
def symbol(name: str) -> Mono:
    """Return a length with a name that can't occur in source text."""
    return mono_of(Scalar(f"#{name}"))


def is_symbol(length: Mono) -> bool:
    """Return whether a length was created by `symbol`."""
    sole = length.only
    return isinstance(sole, Scalar) and sole.name.startswith("#")


@dataclass
class Shapes:
    """What is known of shapes on one path."""

    ranks: dict[int, tuple[int | None, int]] = field(default_factory=dict)  # by number of a Free: (rank, minimum rank)
    held: dict[tuple[Mono, Layout], Dims] = field(default_factory=dict)  # shapes of values that don't carry one
    same: dict[Mono, Mono] = field(default_factory=dict)
    axes: dict[Mono, frozenset[tuple[int, int]]] = field(default_factory=dict)  # by length: its (Free, axis) pairs
    names: dict[Mono, str] = field(default_factory=dict)  # by length: its name in the text
    met: dict[Span, tuple[tuple[Dims, Dims], ...]] = field(default_factory=dict)  # by statistic: (its, other) shapes
    features: frozenset[Mono] = frozenset()  # lengths of the inputs or outputs of Linear, LayerNorm and matrices
    count: int = 0

    def copy(self) -> Shapes:
        # fmt: off
        return Shapes(
            self.ranks.copy(), self.held.copy(), self.same.copy(), self.axes.copy(), self.names.copy(),
            self.met.copy(), self.features, self.count,
        )
        # fmt: on

    def free(self, least: int = 0, *, unread: bool = False) -> Free:
        """Return a new shape of at least the given rank."""
        self.count += 1
        self.ranks[self.count] = (None, least)
        return Free(self.count, unread)

    # --- ranks -------------------------------------------------------------------------------------------------------

    def rank(self, dims: Dims) -> int | None:
        match dims:
            case Free(number=number):
                rank = self.ranks[number][0]
                return None if rank == _CONTRADICTED else rank
            case Exact(lengths=lengths):
                return len(lengths)
        rank = self.rank(dims.base)
        return None if rank is None or rank + _added_axes(dims) < 0 else rank + _added_axes(dims)

    def least(self, dims: Dims) -> int:
        """Return the number of axes that a shape has at least."""
        match dims:
            case Free(number=number):
                rank, least = self.ranks[number]
                return least if rank is None or rank == _CONTRADICTED else rank
            case Exact(lengths=lengths):
                return len(lengths)
        return max(self.least(dims.base) + _added_axes(dims), 0)

    def learn_rank(self, dims: Dims, rank: int) -> None:
        """Record the rank of a shape; one that contradicts an earlier one makes the rank unknown."""
        while not isinstance(dims, Free | Exact):
            dims, rank = dims.base, rank - _added_axes(dims)
        if isinstance(dims, Exact) or rank < 0 or rank > MOST_AXES:
            return
        old, least = self.ranks[dims.number]
        if old is not None or least > rank:
            self.ranks[dims.number] = (old if old == rank else _CONTRADICTED, least)
            return
        self.ranks[dims.number] = (rank, least)
        for i in range(rank):
            self.unite(self._new_axis(dims.number, i), self._new_axis(dims.number, i - rank))

    def learn_least(self, dims: Dims, least: int) -> None:
        while not isinstance(dims, Free | Exact):
            dims, least = dims.base, least - _added_axes(dims)
        if isinstance(dims, Free):
            rank, old = self.ranks[dims.number]
            if least > old:
                self.ranks[dims.number] = (_CONTRADICTED if rank is not None and rank < least else rank, least)

    # --- axes --------------------------------------------------------------------------------------------------------

    def _new_axis(self, number: int, i: int) -> Mono:
        found = symbol(f"{number}[{i}]")
        if found not in self.same:
            self.axes.setdefault(found, frozenset(((number, i),)))
        return found

    def meets(self, dims: Dims, one: int, two: int) -> bool | None:
        """Return whether two indices name the same axis; None if that depends on an unknown rank."""
        if (one < 0) == (two < 0):
            return one == two
        front, back = max(one, two), min(one, two)
        rank = self.rank(dims)
        if rank is not None:
            return front == rank + back
        return False if front - back < self.least(dims) else None

    def axis(self, dims: Dims, i: int) -> Mono | None:
        """Return the length of an axis; None if the axis or its length is unknown."""
        if not -MOST_AXES <= i < MOST_AXES:
            return None
        match dims:
            case Free(number=number):
                return self._in_free(number, i)
            case Exact(lengths=lengths):
                return lengths[i] if -len(lengths) <= i < len(lengths) else None
            case Changed(base=base, at=at):
                return self._in_changed(dims, base, at, i)
            case Gone(base=base, axes=axes):
                j = self._before_loss(base, axes, i)
                return None if j is None else self.axis(base, j)
            case Grown(base=base, at=at_):
                return self._in_grown(dims, base, at_, i)
            case Swapped(base=base, one=one, two=two):
                first, second = self.meets(dims, i, one), self.meets(dims, i, two)
                if first is None or second is None:
                    return None
                return self.axis(base, two if first else one if second else i)

    def _in_free(self, number: int, i: int) -> Mono | None:
        rank, least = self.ranks[number]
        needed = i + 1 if i >= 0 else -i
        if rank == _CONTRADICTED or needed > MOST_AXES:
            return None
        if rank is not None:
            return self._new_axis(number, i if i < 0 else i - rank) if needed <= rank else None
        if needed > least:
            self.ranks[number] = (rank, needed)
        return self._new_axis(number, i)

    def _in_changed(self, dims: Dims, base: Dims, at: tuple[tuple[int, Mono | None], ...], i: int) -> Mono | None:
        found = [(self.meets(dims, i, place), length) for place, length in at]
        if any(same is None for same, _ in found):
            return None
        here = [length for same, length in found if same]
        return here[0] if here else self.axis(base, i)

    def _before_loss(self, base: Dims, axes: tuple[int, ...], i: int) -> int | None:
        """Return the index of an axis in the base, before axes were dropped; None if it is unknown."""
        rank = self.rank(base)
        if rank is not None:
            gone = {a % rank for a in axes if -rank <= a < rank}
            kept = [k for k in range(rank) if k not in gone]
            return kept[i] if -len(kept) <= i < len(kept) else None
        if all((a < 0) == (i < 0) for a in axes):
            step = -1 if i < 0 else 1
            left, at = (-i if i < 0 else i + 1), (-1 if i < 0 else 0)
            while True:
                left -= at not in axes
                if not left:
                    return at
                at += step
        one_sided = len({a < 0 for a in axes}) == 1
        return i if one_sided and all(self.meets(base, i, a) is False for a in axes) else None

    def _in_grown(self, dims: Dims, base: Dims, at: int, i: int) -> Mono | None:
        same = self.meets(dims, i, at)
        if same is None:
            return None
        if same:
            return ONE_LONG
        rank = self.rank(dims)
        if rank is not None:
            i, at = i % rank if -rank <= i < rank else rank, at % rank
            return self.axis(base, i if i < at else i - 1) if i < rank else None
        if (i < 0) != (at < 0):
            return self.axis(base, i)
        if i < 0:
            return self.axis(base, i if i > at else i + 1)
        return self.axis(base, i if i < at else i - 1)

    def lengths(self, dims: Dims) -> tuple[Mono | None, ...] | None:
        """Return the lengths of all axes; None if the rank is unknown."""
        rank = self.rank(dims)
        return None if rank is None else tuple(self.axis(dims, i - rank) for i in range(rank))

    # --- lengths -----------------------------------------------------------------------------------------------------

    def find(self, length: Mono) -> Mono:
        """Return the representative of all lengths that are known to equal this one."""
        while length in self.same:
            length = self.same[length]
        if len(length.factors) > 1 or (length.factors and length.coef != 1):
            parts = [(f, self.find(mono_of(f.atom))) for f in length.factors if f.power == 1]
            if len(parts) == len(length.factors) <= 4:
                whole = Mono(length.coef)
                for _, part in parts:
                    whole = whole.times(part)
                return self.same.get(whole, whole)
        return length

    def unite(self, one: Mono | None, two: Mono | None) -> bool:
        """Record that two lengths are equal; return False if they can't be."""
        if one is None or two is None:
            return True
        a, b = self.find(one), self.find(two)
        if a == b:
            return True
        if not a.factors and not b.factors:
            return False
        if not b.factors or (is_symbol(a) and a.factors):
            a, b = b, a
        self.same[b] = a
        self.axes[a] = self.axes.get(a, frozenset()) | self.axes.get(b, frozenset())
        if b in self.names:
            self.names.setdefault(a, self.names[b])
        return True

    def learn_features(self, *lengths: Mono | None) -> None:
        """Record that axes of features have these lengths."""
        self.features |= {self.find(n) for n in lengths if n is not None and self.find(n) != ONE_LONG}

    def are_features(self, length: Mono | None) -> bool:
        return length is not None and self.find(length) in {self.find(n) for n in self.features}

    def equal(self, one: Mono | None, two: Mono | None) -> bool:
        return one is not None and two is not None and self.find(one) == self.find(two)

    def differ(self, one: Mono | None, two: Mono | None) -> bool:
        """Return whether two lengths are different numbers or belong to different axes of a tensor."""
        if one is None or two is None:
            return False
        a, b = self.find(one), self.find(two)
        if a == b:
            return False
        if not a.factors and not b.factors:
            return True
        theirs = dict(self.axes.get(b, ()))
        return any(self.meets(Free(n), i, theirs[n]) is False for n, i in self.axes.get(a, ()) if n in theirs)

    def name(self, length: Mono | None, name: str) -> None:
        """Record the name of a length in the text, unless it has one."""
        if length is not None and name.strip("_"):
            self.names.setdefault(self.find(length), name)

    def meet(self, mono: Mono, dims: Dims, other: Dims) -> None:
        """Record the shape with which statistics are combined, unless `mono` has other data or unknown steps."""
        plain = {f.atom for f in mono.factors if not bears_stat(f.atom)}
        if any(map(bears_data, plain)) or any(isinstance(f.atom, Through) for f in mono.factors):
            return
        for stat in stats_of(mono):
            if not plain.isdisjoint(f.atom for f in stat.inner.factors):
                continue
            pairs = self.met.get(stat.span, ())
            if len(pairs) < MOST_MET and (dims, other) not in pairs:
                self.met[stat.span] = (*pairs, (dims, other))

    # --- two tensors in one operation --------------------------------------------------------------------------------

    def join(self, a: Dims, b: Dims) -> Dims:
        """Return the shape of an elementwise operation on two tensors."""
        if b in (a, SCALAR):
            return a
        if a == SCALAR:
            return b
        known = self.rank(a), self.rank(b)
        if known[0] is not None and known[1] is not None:
            return self._both_known(a, b, known[0], known[1])
        if known[0] is not None or known[1] is not None:
            return self._one_known(b, a) if known[1] is None else self._one_known(a, b)
        return self._of_reduction(a, b) or self._of_reduction(b, a) or self.free(max(self.least(a), self.least(b)))

    def _both_known(self, a: Dims, b: Dims, rank: int, other: int) -> Dims:
        if rank < other:
            return self._both_known(b, a, other, rank)
        mine = [self.axis(a, i - rank) for i in range(rank)]
        found = [
            *mine[: rank - other],
            *(self.aligned(mine[i], self.axis(b, i - rank)) for i in range(rank - other, rank)),
        ]
        return a if found == mine else Exact(tuple(found))

    def aligned(self, one: Mono | None, two: Mono | None) -> Mono | None:
        """Return the length of an axis of two broadcast tensors, and unite its lengths unless one is 1."""
        for a, b in ((one, two), (two, one)):
            if a is not None and self.find(a) == ONE_LONG:
                return b
        if one is None or two is None:
            sure = one if two is None else two
            return sure if sure is not None and not self.find(sure).factors else None
        if self.differ(one, two):
            return None
        self.unite(one, two)
        return one

    def _one_known(self, a: Dims, b: Dims) -> Dims:
        """Return the shape of an elementwise operation if only the rank of `b` is known."""
        rank = self.rank(b) or 0
        if self.least(a) < rank:
            tail = tuple((i, length) for i in range(-rank, 0) if (length := self.axis(b, i)) not in (None, ONE_LONG))
            return Changed(self.free(rank), tail)
        changed = []
        for i in range(-rank, 0):
            mine = self.axis(a, i)
            found = self.aligned(mine, self.axis(b, i))
            if found != mine:
                changed.append((i, found))
        return Changed(a, tuple(changed)) if changed else a

    def _of_reduction(self, a: Dims, b: Dims) -> Dims | None:
        """Return `a` if `b` is a reduction of it, else None."""
        base, under = _unchanged_base(a), _unchanged_base(b)
        if isinstance(under, Gone) and a == base and _unchanged_base(under.base) == base:
            return a
        if base != under or a == b:
            return None
        if a == base and all(length == ONE_LONG for _, length in _changed_axes(b)):
            return a
        return None

    def fits(self, small: Dims, large: Dims) -> bool | None:
        """Return whether `small` broadcasts to the shape `large` without changing it; None if that is unknown."""
        ours, theirs = self.lengths(small), self.lengths(large)
        if ours is None or theirs is None:
            return True if small == large or (self._of_reduction(large, small) == large and not _drops(small)) else None
        if len(ours) > len(theirs):
            return None
        pairs = list(zip(reversed(ours), reversed(theirs), strict=False))
        if any(self.differ(a, b) for a, b in pairs if not self.equal(a, ONE_LONG)):
            return False
        return True if all(self.equal(a, ONE_LONG) or self.equal(a, b) for a, b in pairs) else None


def _added_axes(dims: Dims) -> int:
    """Return the number of axes that a step adds (negative: removes)."""
    return -len(dims.axes) if isinstance(dims, Gone) else int(isinstance(dims, Grown))


def _unchanged_base(dims: Dims) -> Dims:
    while isinstance(dims, Changed):
        dims = dims.base
    return dims


def _changed_axes(dims: Dims) -> list[tuple[int, Mono | None]]:
    found: list[tuple[int, Mono | None]] = []
    while isinstance(dims, Changed):
        found += dims.at
        dims = dims.base
    return found


def _drops(dims: Dims) -> bool:
    return any(isinstance(one, Gone) for one in _lineage(dims))
