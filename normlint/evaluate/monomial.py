"""What an expression computes: a product of atoms with rational powers.

`x * torch.rsqrt(ms + eps)` and `x / (ms + eps) ** 0.5` are the same value, {x: 1, ms⊕eps: −1/2}. Sums have four
forms only: eps (`Plus`), a centre (`Centred`), 1 + w (`Offset`) and a shift behind the product (`Shifted`); any other
sum is an `Apply`, opaque. Spans, dtypes and the steps a factor took ride along and do not take part in equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from normlint.evaluate.dtypes import DType
from normlint.text.finding import Span
from normlint.text.frozen import dataclass, kept, replace

if TYPE_CHECKING:
    from normlint.evaluate.dims import Dims

NOWHERE: Final = Span(0, 0)
VARIANCE_AS_DIFFERENCE: Final = "E[x²] − E[x]²"  # what a variance is called that is read as one statistic
ONCE: Final = Fraction(1)
ALL: Final = "all"  # every axis
TRAILING: Final = "trailing"  # the last len(normalized_shape) axes
MOST_DEPTH: Final = 40  # atoms in atoms,
MOST_FACTORS: Final = 32  # factors in a product,
MOST_STEPS: Final = 200  # and steps of a factor: with more, a value that gets a name is known by its place only
Axes: TypeAlias = tuple[int, ...] | str | None  # None: not known
Layout: TypeAlias = tuple[tuple[object, ...], ...]  # permutations and views since the input, oldest first


@dataclass(frozen=True, slots=True)
class Step:
    """Something done to a factor: sqrt, rsqrt, recip, pow, cast, detach, item, no_grad.

    join: a number met a tensor; guard: it hangs on a test, which may be for zero.
    """

    op: str
    span: Span
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Factor:
    atom: Atom
    power: Fraction
    steps: tuple[Step, ...] = field(default=(), compare=False)
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def operands(self) -> tuple[Span, ...]:
        """Where a number was multiplied into tensors, or divided them: as it is written there."""
        return tuple(step.span for step in self.steps if step.op == "join")


@dataclass(frozen=True, eq=False)
class Mono:
    """coefficient · ∏ atom^power; the factors stand in the order in which the code met them."""

    coef: float = 1.0
    factors: tuple[Factor, ...] = ()

    @kept
    def key(self) -> tuple[float, frozenset[tuple[Atom, Fraction | int]]]:
        """What tells it from others; of a fraction the hash is slow, and that of most powers is that of 1."""
        return (self.coef, frozenset([(f.atom, 1 if f.power is ONCE else f.power) for f in self.factors]))

    @kept
    def _hash(self) -> int:
        return hash(self.key)

    @kept
    def depth(self) -> int:
        """How deep atoms are nested in atoms."""
        return max((_depth(f.atom) for f in self.factors), default=0)

    @kept
    def large(self) -> bool:
        """More than is worth following: of many factors, one with a long history, or atoms deep in atoms."""
        long = any(len(f.steps) > MOST_STEPS for f in self.factors)
        return long or len(self.factors) > MOST_FACTORS or self.depth > MOST_DEPTH

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Mono) or self._hash != other._hash:
            return False
        if self.key is other.key:
            return True
        equal = self.key == other.key
        if equal:  # one key for both: what was compared once, however deep it is, is the same from now on
            self.__dict__["key"] = other.key
        return equal

    def __hash__(self) -> int:
        return self._hash

    @kept
    def has_stat(self) -> bool:
        """A statistic stands in this product, bare or under eps."""
        return any(bears_stat(f.atom) for f in self.factors)

    @kept
    def has_data(self) -> bool:
        """Some factor depends on the values of a tensor from outside, not only on its shape."""
        return any(bears_data(f.atom) for f in self.factors)

    @kept
    def is_clear(self) -> bool:
        """Every factor was followed all the way to what went in."""
        return all(is_clear(f.atom) for f in self.factors)

    def described(self, describe: Callable[[Mono], str]) -> str:
        """What it is described in, made once."""
        if "words" not in self.__dict__:
            self.__dict__["words"] = describe(self)
        return self.__dict__["words"]  # type: ignore[no-any-return]

    def times(self, other: Mono) -> Mono:
        merged: dict[Atom, Factor] = {}
        for f in (*self.factors, *other.factors):
            old = merged.get(f.atom)
            merged[f.atom] = f if old is None else Factor(old.atom, old.power + f.power, _joined(old, f), old.span)
        return Mono(self.coef * other.coef, tuple(f for f in merged.values() if f.power))

    def map(self, change: Callable[[Atom], Atom]) -> Mono:
        """Every atom changed, also those under eps."""
        return Mono(self.coef, tuple(Factor(_map(f.atom, change), f.power, f.steps, f.span) for f in self.factors))

    def stepped(self, step: Step) -> Mono:
        return Mono(self.coef, tuple(Factor(f.atom, f.power, (*f.steps, step), f.span) for f in self.factors))


def _joined(one: Factor, two: Factor) -> tuple[Step, ...]:
    """The steps of both, each once: x = x * x would double them at every line."""
    return tuple(dict.fromkeys(one.steps + two.steps))


# --- atoms -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor from outside: a parameter of the entry, or a name that is free in a snippet."""

    name: str
    integral: bool = field(default=False, compare=False)  # annotated as a tensor of integers or flags


@dataclass(frozen=True, slots=True)
class Param:
    """A tensor the module owns.

    `init`: ones, zeros, full, empty, random (around 0), data or "" where the text doesn't say.
    """

    name: str
    role: str  # parameter, buffer, tensor (plain attribute), unknown
    init: str = field(compare=False, default="")
    shape: tuple[Mono | None, ...] | None = field(compare=False, default=None)
    span: Span = field(compare=False, default=NOWHERE)
    axis: str = field(compare=False, default="last")  # where it broadcasts: last, other (viewed, unsqueezed)
    maker: str = field(compare=False, default="")  # the torch function that made it
    dtype: DType = field(compare=False, default=DType.PARAM)
    first: Mono | None = field(compare=False, default=None)  # the value of all its elements at first
    device: str = field(compare=False, default="")  # where it was made, if anywhere but on the CPU

    @property
    def is_part(self) -> bool:
        """Cut out of a parameter, as long as the input."""
        return self.name.endswith("]")

    @property
    def is_neutral(self) -> bool:
        """`ones_like(x)`, made on the spot: no gain, but what stands for none."""
        return self.role == "tensor" and not self.name and self.maker.endswith("_like")


@dataclass(frozen=True, slots=True)
class Size:
    """The length of an axis of a tensor; axis None: the number of elements. `less`: one less, as Bessel has it."""

    of: Mono
    axis: int | None
    layout: Layout = ()
    less: bool = False


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number the text does not fix: a constructor's parameter, an attribute of a config object."""

    name: str
    default: float | None = field(default=None, compare=False)
    less: bool = False  # one less


@dataclass(frozen=True, slots=True)
class Around:
    """An atom that is made of a product."""

    inner: Mono


@dataclass(frozen=True, slots=True)
class Stat(Around):
    """A reduction. `inner` is what is averaged or summed: x², (x − μ)², |x|, x."""

    reduce: str  # mean, sum
    axes: Axes
    keepdim: bool
    biased: bool = True
    layout: Layout = ()
    square: DType = field(default=DType.UNKNOWN, compare=False)
    accumulate: DType = field(default=DType.UNKNOWN, compare=False)
    spelled: str = field(default="", compare=False)  # mean, sum, var, std, norm, normalize, einsum or the like
    default_dim: bool = field(default=False, compare=False)
    default_eps: bool = field(default=False, compare=False)
    masked: bool = field(default=False, compare=False)
    rank: int | None = field(default=None, compare=False)
    one_axis: bool = field(default=False, compare=False)  # whichever it is
    span: Span = field(default=NOWHERE, compare=False)
    inner_span: Span = field(default=NOWHERE, compare=False)
    no_grad: bool = field(default=False, compare=False)
    over: Dims | None = field(default=None, compare=False)  # the shape of what is reduced
    steps: tuple[Step, ...] = field(default=(), compare=False)  # of a centre, before it was subtracted


@dataclass(frozen=True, slots=True)
class Centred:
    """base − stat, where stat is the mean of base."""

    base: Mono
    stat: Stat = field(compare=False)
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Plus(Around):
    """inner + eps, or inner clamped from below to eps (`how`: add, clamp)."""

    eps: Mono
    how: str = "add"
    span: Span = field(default=NOWHERE, compare=False)
    eps_span: Span = field(default=NOWHERE, compare=False)
    dtype: DType = field(default=DType.UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class Offset:
    """constant + inner, for a gain; `dtype`: that of the sum."""

    constant: float
    inner: Mono
    span: Span = field(default=NOWHERE, compare=False)
    dtype: DType = field(default=DType.UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class Shifted(Around):
    """inner + bias, behind the product."""

    bias: Mono
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Abs(Around):
    """|inner|."""


@dataclass(frozen=True, slots=True)
class Through(Around):
    """A statistic after an operation that isn't followed: still a statistic, of which only the input is known."""

    name: str
    place: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Apply:
    """What the analysis doesn't look into. `place` tells apart calls that may differ from one to the next.

    `data`: it was given a tensor from outside. `held`: a layer's own weight or bias.
    """

    name: str
    args: tuple[object, ...] = ()
    place: Span = NOWHERE
    data: bool = field(default=False, compare=False)
    held: bool = field(default=False, compare=False)


Atom: TypeAlias = Input | Param | Size | Scalar | Stat | Centred | Plus | Offset | Shifted | Abs | Through | Apply


def _depth(atom: Atom) -> int:
    match atom:
        case Around(inner=inner) | Offset(inner=inner):
            return inner.depth + 1
        case Centred(base=base):
            return base.depth + 1
        case Apply(args=args):
            return max([arg.depth for arg in args if isinstance(arg, Mono)], default=0) + 1
    return 0


def _map(atom: Atom, change: Callable[[Atom], Atom]) -> Atom:
    if isinstance(atom, Plus):
        atom = replace(atom, inner=atom.inner.map(change))
    return change(atom)


def bears_stat(atom: Atom) -> bool:
    """A statistic, or one under eps, an absolute value or something that isn't followed."""
    return isinstance(atom, Stat) or (isinstance(atom, Plus | Abs | Through) and atom.inner.has_stat)


def bears_data(atom: Atom) -> bool:
    """Whether the values of a tensor from outside are in it."""
    match atom:
        case Input() | Stat() | Centred():
            return True
        case Around(inner=inner) | Offset(inner=inner):
            return inner.has_data
        case Apply(data=data):
            return data
    return False


def is_clear(atom: Atom) -> bool:
    """Followed all the way to what went in."""
    if isinstance(atom, Apply | Through) or (isinstance(atom, Stat) and atom.layout):
        return False
    inner = atom.base if isinstance(atom, Centred) else getattr(atom, "inner", None)
    return inner is None or inner.is_clear


def stats_of(mono: Mono) -> Iterator[Stat]:
    """Every statistic in the product, also those under eps."""
    for f in mono.factors:
        if isinstance(f.atom, Stat):
            yield f.atom
        elif isinstance(f.atom, Plus | Abs | Through):
            yield from stats_of(f.atom.inner)


def leaves(mono: Mono) -> Iterator[Atom]:
    """What a product is made of, also within sums and calls that weren't followed; of shared ones each is read once."""
    seen, left = set[int](), [mono]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for f in one.factors:
            if isinstance(f.atom, Apply):
                left += [arg for arg in f.atom.args if isinstance(arg, Mono)]
            else:
                yield f.atom


def positive(atom: Atom) -> bool:
    """Is it never negative, so that a root undoes a square?"""
    match atom:
        case Size() | Scalar() | Abs():
            return True
        case Plus(inner=inner) | Stat(inner=inner):
            return all(positive(f.atom) or f.power % 2 == 0 for f in inner.factors)
    return False


def without_sum(mono: Mono, added: Mono) -> Mono | None:
    """(s + 1) − 1 as s, and x·(r − 1) + x as x·r; None for any other sum."""
    sums = [f for f in mono.factors if isinstance(f.atom, Plus | Offset) and f.power == 1]
    atom = sums[0].atom if len(sums) == 1 else None
    before = Mono(atom.constant) if isinstance(atom, Offset) else getattr(atom, "eps", None)
    if not isinstance(atom, Plus | Offset) or before is None or before.factors or getattr(atom, "how", "add") != "add":
        return None
    rest = Mono(mono.coef, tuple(f for f in mono.factors if f is not sums[0]))
    same = Mono(-added.coef, added.factors) == Mono(rest.coef * before.coef, rest.factors)
    return rest.times(atom.inner) if same else None


def raised(mono: Mono, power: Fraction, steps: Iterable[Step]) -> Mono | None:
    """Mono ** power; None where the coefficient has no such power."""
    try:
        coef = mono.coef ** (int(power) if power.denominator == 1 else float(power))
    except (ZeroDivisionError, OverflowError):
        return None
    if isinstance(coef, complex):
        return None
    trail = tuple(steps)
    return Mono(coef, tuple(_raised(f, power, trail) for f in mono.factors))


def _raised(f: Factor, power: Fraction, steps: tuple[Step, ...]) -> Factor:
    if f.power is ONCE:  # most of them; fractions are slow
        return Factor(f.atom, power, f.steps + steps, f.span)
    atom, total = f.atom, f.power * power
    if f.power % 2 == 0 and total % 2 != 0 and not positive(atom):
        atom = Abs(Mono(1.0, (Factor(atom, ONCE, span=f.span),)))
    return Factor(atom, total, f.steps + steps, f.span)


ONE: Final = Mono()


# --- what was taken apart --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cut:
    """How a tensor was cut: along which axis, whether that is gone, and into what."""

    axis: int
    gone: bool
    into: tuple[object, ...] = ()
    layout: Layout = ()

    def __str__(self) -> str:
        return str(self.axis)


def whole_of(atom: Atom) -> Mono | None:
    """The tensor that the atom is a part of."""
    whole = atom.args[0] if isinstance(atom, Apply) and atom.name == "item" and cut_of(atom) is not None else None
    return whole if isinstance(whole, Mono) else None


def cut_of(atom: Atom | None) -> Cut | None:
    """How the parts that the atom is one of, or all of, were cut."""
    last = atom.args[-1] if isinstance(atom, Apply) and len(atom.args) == 2 else None
    return last if isinstance(last, Cut) else None


def atoms_of(mono: Mono) -> Iterator[Atom]:
    """The atoms of a product, and the atoms inside of these; what stands in it twice is looked into once."""
    waiting, seen = [mono], set[Mono]()
    while waiting:
        now = waiting.pop()
        if now in seen:
            continue
        seen.add(now)
        for f in now.factors:
            yield f.atom
            inside = [getattr(f.atom, one.name) for one in fields(f.atom)]
            inside += f.atom.args if isinstance(f.atom, Apply) and whole_of(f.atom) is None else ()
            waiting += [inner for inner in inside if isinstance(inner, Mono)]


def is_row(mono: Mono, layout: Layout) -> bool:
    """Is it a part of a tensor of that layout, cut along an axis that is gone?"""
    return any(cut.gone and cut.layout == layout for cut in cuts_in(mono))


def cuts_in(mono: Mono) -> Iterator[Cut]:
    """How the parts in a product were cut."""
    return (cut for atom in atoms_of(mono) if whole_of(atom) is not None and (cut := cut_of(atom)) is not None)
