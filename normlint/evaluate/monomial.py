"""Products of atoms with rational powers, which represent the values of expressions.

`x * torch.rsqrt(ms + eps)` and `x / (ms + eps) ** 0.5` are the same value, {x: 1, ms⊕eps: −1/2}. Four forms of sums are
known: statistic + eps (`Plus`), x − mean (`Centred`), 1 + w (`Offset`) and norm + bias (`Shifted`); any other sum is an
opaque `Apply`. Spans, dtypes and the steps of a factor are not compared.
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
VARIANCE_AS_DIFFERENCE: Final = "E[x²] − E[x]²"  # the `spelled` of a variance that is computed as this difference
ONCE: Final = Fraction(1)
ALL: Final = "all"  # every axis
TRAILING: Final = "trailing"  # the last len(normalized_shape) axes
# Larger values become opaque when they are bound to a name.
MOST_DEPTH: Final = 40  # nested atoms
MOST_FACTORS: Final = 32  # factors of a product
MOST_STEPS: Final = 200  # steps of a factor
Axes: TypeAlias = tuple[int, ...] | str | None  # None: unknown
Layout: TypeAlias = tuple[tuple[object, ...], ...]  # permutations and views since the input, oldest first


@dataclass(frozen=True, slots=True)
class Step:
    """An operation on a factor: sqrt, rsqrt, recip, pow, cast, detach, item or no_grad.

    "join": a number was combined with a tensor; "guard": the value depends on a comparison, which may be with zero.
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
        """The spans of the operands with which the factor was multiplied into tensors, or divided them."""
        return tuple(step.span for step in self.steps if step.op == "join")


@dataclass(frozen=True, eq=False)
class Mono:
    """coefficient · ∏ atom^power, with the factors in the order in which the code introduced them."""

    coef: float = 1.0
    factors: tuple[Factor, ...] = ()

    @kept
    def key(self) -> tuple[float, frozenset[tuple[Atom, Fraction | int]]]:
        """The key for comparison; a power of `ONCE` is stored as 1, since the hash of a fraction is slow."""
        return (self.coef, frozenset([(f.atom, 1 if f.power is ONCE else f.power) for f in self.factors]))

    @kept
    def _hash(self) -> int:
        return hash(self.key)

    @kept
    def depth(self) -> int:
        """The depth of nested atoms."""
        return max((_depth(f.atom) for f in self.factors), default=0)

    @kept
    def large(self) -> bool:
        """Whether it has too many factors, steps or nested atoms to be followed."""
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
        if equal:  # shares the key, so that the next comparison is fast
            self.__dict__["key"] = other.key
        return equal

    def __hash__(self) -> int:
        return self._hash

    @kept
    def has_stat(self) -> bool:
        """Whether a factor is a statistic, also with an eps."""
        return any(bears_stat(f.atom) for f in self.factors)

    @kept
    def has_data(self) -> bool:
        """Whether a factor depends on the values of an input tensor, not only on its shape."""
        return any(bears_data(f.atom) for f in self.factors)

    @kept
    def is_clear(self) -> bool:
        """Whether all factors are known down to the inputs."""
        return all(is_clear(f.atom) for f in self.factors)

    @property
    def only(self) -> Atom | None:
        """The atom of its only factor; None if there are several or none."""
        return self.factors[0].atom if len(self.factors) == 1 else None

    def described(self, describe: Callable[[Mono], str]) -> str:
        """Return `describe(self)`, computed once."""
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
        """Return the product with `change` applied to every atom, also to those with an eps."""
        return Mono(self.coef, tuple(Factor(_map(f.atom, change), f.power, f.steps, f.span) for f in self.factors))

    def stepped(self, step: Step) -> Mono:
        return Mono(self.coef, tuple(Factor(f.atom, f.power, (*f.steps, step), f.span) for f in self.factors))


def mono_of(atom: Atom, span: Span = NOWHERE) -> Mono:
    """Return the product of one atom."""
    return Mono(1.0, (Factor(atom, ONCE, span=span),))


def _joined(one: Factor, two: Factor) -> tuple[Step, ...]:
    """Return the distinct steps of both; duplicates would double with every `x = x * x`."""
    return tuple(dict.fromkeys(one.steps + two.steps))


# --- atoms -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Input:
    """An input tensor: a parameter of the entry, or a free name of a snippet."""

    name: str
    integral: bool = field(default=False, compare=False)  # annotated as a tensor of integers or booleans


@dataclass(frozen=True, slots=True)
class Param:
    """A tensor that the module owns, or one that was created in the text (without a name).

    `init` is the kind of initial values: ones, zeros, full, empty, random (around 0), data, or "" if unknown.
    """

    name: str
    role: str  # parameter, buffer, tensor (plain attribute), unknown
    init: str = field(compare=False, default="")
    shape: tuple[Mono | None, ...] | None = field(compare=False, default=None)
    span: Span = field(compare=False, default=NOWHERE)
    axis: str = field(compare=False, default="last")  # where it varies: last, or other (viewed, unsqueezed)
    maker: str = field(compare=False, default="")  # the torch function that created it
    dtype: DType = field(compare=False, default=DType.PARAM)
    first: Mono | None = field(compare=False, default=None)  # the initial value of all elements
    device: str = field(compare=False, default="")  # where it was created, if not on the CPU

    @property
    def label(self) -> str:
        """Return its name, or `tensor` where it is held by a local variable."""
        return self.name or "tensor"

    @property
    def is_part(self) -> bool:
        """Whether it is an indexed part of a parameter."""
        return self.name.endswith("]")

    @property
    def is_neutral(self) -> bool:
        """Whether it was created like `ones_like(x)`, as a placeholder for a missing gain."""
        return self.role == "tensor" and not self.name and self.maker.endswith("_like")


@dataclass(frozen=True, slots=True)
class Size:
    """The length of an axis of a tensor, or its number of elements (axis None), minus one if `less`."""

    of: Mono
    axis: int | None
    layout: Layout = ()
    less: bool = False


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number with an unknown value, such as a constructor's parameter or an attribute of a config."""

    name: str
    default: float | None = field(default=None, compare=False)
    less: bool = False  # minus one


@dataclass(frozen=True, slots=True)
class Around:
    """An atom that wraps a product."""

    inner: Mono


@dataclass(frozen=True, slots=True)
class Stat(Around):
    """A mean or sum of `inner`, such as x², (x − μ)², |x| or x."""

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
    one_axis: bool = field(default=False, compare=False)  # `dim` was one axis, perhaps an unknown one
    span: Span = field(default=NOWHERE, compare=False)
    inner_span: Span = field(default=NOWHERE, compare=False)
    no_grad: bool = field(default=False, compare=False)
    over: Dims | None = field(default=None, compare=False)  # the shape of the reduced tensor
    steps: tuple[Step, ...] = field(default=(), compare=False)  # of a mean that was subtracted, before that


@dataclass(frozen=True, slots=True)
class Centred:
    """base − stat, where stat is the mean of base."""

    base: Mono
    stat: Stat = field(compare=False)
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Plus(Around):
    """inner + eps, inner − eps, or inner clamped to at least eps (`how`: add, subtract, clamp)."""

    eps: Mono
    how: str = "add"
    span: Span = field(default=NOWHERE, compare=False)
    eps_span: Span = field(default=NOWHERE, compare=False)
    dtype: DType = field(default=DType.UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class Offset:
    """constant + inner, as in a gain 1 + w; `dtype` is that of the sum."""

    constant: float
    inner: Mono
    span: Span = field(default=NOWHERE, compare=False)
    dtype: DType = field(default=DType.UNKNOWN, compare=False)


@dataclass(frozen=True, slots=True)
class Shifted(Around):
    """inner + bias, for the result of a norm."""

    bias: Mono
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Abs(Around):
    """|inner|."""


@dataclass(frozen=True, slots=True)
class Through(Around):
    """The result of an unknown operation on a statistic, which is still a statistic."""

    name: str
    place: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Apply:
    """An opaque operation; `place` distinguishes impure calls, whose results may differ.

    `data`: it depends on an input tensor. `held`: it is a layer's own weight or bias.
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
    """Return whether an atom is a statistic, also with an eps, an absolute value or an unknown operation."""
    return isinstance(atom, Stat) or (isinstance(atom, Plus | Abs | Through) and atom.inner.has_stat)


def bears_data(atom: Atom) -> bool:
    """Return whether an atom depends on the values of an input tensor."""
    match atom:
        case Input() | Stat() | Centred():
            return True
        case Around(inner=inner) | Offset(inner=inner):
            return inner.has_data
        case Apply(data=data):
            return data
    return False


def is_clear(atom: Atom) -> bool:
    """Return whether an atom is known down to the inputs."""
    if isinstance(atom, Apply | Through) or (isinstance(atom, Stat) and atom.layout):
        return False
    inner = atom.base if isinstance(atom, Centred) else getattr(atom, "inner", None)
    return inner is None or inner.is_clear


def stats_of(mono: Mono) -> Iterator[Stat]:
    """Yield every statistic in the product, also those with an eps."""
    for f in mono.factors:
        if isinstance(f.atom, Stat):
            yield f.atom
        elif isinstance(f.atom, Plus | Abs | Through):
            yield from stats_of(f.atom.inner)


def leaves(mono: Mono) -> Iterator[Atom]:
    """Yield the atoms of a product and, in the place of each `Apply`, the atoms of its arguments; shared ones once."""
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
    """Return whether an atom is never negative, so that a root undoes a square."""
    match atom:
        case Size() | Scalar() | Abs():
            return True
        case Plus(inner=inner) | Stat(inner=inner):
            return all(positive(f.atom) or f.power % 2 == 0 for f in inner.factors)
    return False


def without_sum(mono: Mono, added: Mono) -> Mono | None:
    """Return (s + 1) − 1 as s, and x·(r − 1) + x as x·r; None for any other sum."""
    sums = [f for f in mono.factors if isinstance(f.atom, Plus | Offset) and f.power == 1]
    atom = sums[0].atom if len(sums) == 1 else None
    before = Mono(atom.constant) if isinstance(atom, Offset) else getattr(atom, "eps", None)
    if not isinstance(atom, Plus | Offset) or before is None or before.factors or getattr(atom, "how", "add") != "add":
        return None
    rest = Mono(mono.coef, tuple(f for f in mono.factors if f is not sums[0]))
    same = Mono(-added.coef, added.factors) == Mono(rest.coef * before.coef, rest.factors)
    return rest.times(atom.inner) if same else None


def raised(mono: Mono, power: Fraction, steps: Iterable[Step]) -> Mono | None:
    """Return mono ** power; None if the coefficient has no such power."""
    try:
        coef = mono.coef ** (int(power) if power.denominator == 1 else float(power))
    except (ZeroDivisionError, OverflowError):
        return None
    if isinstance(coef, complex):
        return None
    trail = tuple(steps)
    return Mono(coef, tuple(_raised(f, power, trail) for f in mono.factors))


def _raised(f: Factor, power: Fraction, steps: tuple[Step, ...]) -> Factor:
    if f.power is ONCE:  # the common case, without arithmetic on fractions
        return Factor(f.atom, power, f.steps + steps, f.span)
    atom, total = f.atom, f.power * power
    if f.power % 2 == 0 and total % 2 != 0 and not positive(atom):
        atom = Abs(mono_of(atom, f.span))
    return Factor(atom, total, f.steps + steps, f.span)


ONE: Final = Mono()


# --- parts of tensors ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cut:
    """How a tensor was split: the axis, whether it is removed, and the function with its arguments (`into`)."""

    axis: int
    gone: bool
    into: tuple[object, ...] = ()
    layout: Layout = ()

    def __str__(self) -> str:
        return str(self.axis)


def whole_of(atom: Atom) -> Mono | None:
    """Return the tensor of which the atom is a part; None if it is no part."""
    whole = atom.args[0] if isinstance(atom, Apply) and atom.name == "item" and cut_of(atom) is not None else None
    return whole if isinstance(whole, Mono) else None


def cut_of(atom: Atom | None) -> Cut | None:
    """Return how the parts were cut of which the atom is one or all; None for any other atom."""
    last = atom.args[-1] if isinstance(atom, Apply) and len(atom.args) == 2 else None
    return last if isinstance(last, Cut) else None


def atoms_of(mono: Mono) -> Iterator[Atom]:
    """Yield the atoms of a product and, recursively, the atoms in these; equal products are searched once."""
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
    """Return whether a product has a part of a tensor of this layout, cut along an axis that is removed."""
    return any(cut.gone and cut.layout == layout for cut in cuts_in(mono))


def cuts_in(mono: Mono) -> Iterator[Cut]:
    """Yield the cuts of all parts in a product."""
    return (cut for atom in atoms_of(mono) if whole_of(atom) is not None and (cut := cut_of(atom)) is not None)
