"""A recognised norm: all that rules, reports and the verifier know of the user's code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from fractions import Fraction

from normlint.evaluate.context import EXCEPTION, Note
from normlint.evaluate.dtypes import HALVES, DType
from normlint.evaluate.monomial import (
    ALL,
    NOWHERE,
    ONCE,
    TRAILING,
    Atom,
    Factor,
    Input,
    Mono,
    Offset,
    Param,
    Stat,
    Step,
    bears_data,
    is_row,
    leaves,
)
from normlint.evaluate.ops.fused import FUSED
from normlint.text.finding import Span
from normlint.text.frozen import dataclass, replace
from normlint.text.operations import LENGTHS

HALF = Fraction(1, 2)
LARGE = 1e-2  # for an eps: as large as the mean square of real activations
QUANTITIES = ("axes", "keepdim", "scale", "power", "eps", "dtype")  # of a norm, that rules judge


@dataclass(frozen=True, slots=True)
class Eps:
    """What keeps the root from zero. `power`: that of the mean square where eps joins; 1 is inside the root."""

    how: str  # add, clamp
    power: Fraction
    value: float | None  # where the text fixes it
    default: float | None  # where a caller may pass another
    name: str
    dtype: DType
    span: Span  # the sum or clamp
    at: Span  # eps itself
    written: bool = False  # as a number, right there


@dataclass(frozen=True, slots=True)
class Gain:
    """A learned factor; `offset` is the 1 of 1 + w, and `dtype` that of the sum. `cast`: its first cast."""

    param: Param
    offset: float | None
    power: Fraction
    span: Span
    dtype: DType = field(default=DType.UNKNOWN, compare=False)
    cast: Step | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of elements in the product. `of_features`: it is the length of the reduced axes (None: not known)."""

    text: str
    power: Fraction
    of_features: bool | None
    span: Span
    inside: bool = False  # it joined the statistic before the root
    less: bool = False  # one less than that
    length: bool = False  # of a tensor of the formula, as `x.shape[0]` is
    operands: tuple[Span, ...] = field(default=(), compare=False)  # what tensors were multiplied with or divided by


@dataclass(frozen=True, slots=True)
class Placing:
    """What the shapes tell of where things lie; None and () where they don't tell."""

    names: tuple[str, ...] = ()  # of the axes of what is reduced
    over_last: bool | None = None  # the one reduced axis is the last one
    along_gain: bool | None = None  # the gain lies along a reduced axis
    over_tokens: bool = False  # it leaves out the last axis, whose length is that of features, and takes the tokens
    apart: bool = False  # the centre is the mean along other axes than the statistic's
    fits: bool | None = None  # the statistic broadcasts as one that keeps its axis would
    centre_fits: bool | None = None
    single: bool = False  # on this path there is but one item in the batch: over everything is over all of that one

    @property
    def shown(self) -> str:
        """The shape, to be read in a message."""
        return f"({', '.join(self.names)})" if self.names else "(B, L, D)"

    @property
    def suffix(self) -> str:
        """Of which input, where the text tells."""
        return f" of a {self.shown} tensor" if self.names else ""


@dataclass(frozen=True)
class Computation:
    """One way through the code: gain · input^1 · (mean square)^power, with everything on the way."""

    kind: str  # rms, layer, l2
    statistic: Stat
    degree: int  # 2: of squares; 1: of the values or their absolute values
    power: Fraction  # of the mean square: −1/2 is right
    input: Mono
    centre: Stat | None
    centred: tuple[bool, bool]  # (inside the statistic, in front of it)
    eps: tuple[Eps, ...]
    counts: tuple[Count, ...]
    gains: tuple[Gain, ...]
    shift: Mono | None
    others: tuple[Atom, ...]
    trail: tuple[Step, ...]  # what happened to the statistic, in order; eps stands as a step of its own
    input_steps: tuple[Step, ...]
    layout_matches: bool
    partial: bool  # only the inverse root is given back
    entered: DType  # INPUT where any caller's dtype may come in, UNKNOWN where the callers are elsewhere
    output: DType
    possible: frozenset[str]  # what the input's dtype can be on this path
    possible_gain: frozenset[str]  # what the parameters' dtype can be on this path
    returned: bool
    grad: bool
    notes: tuple[Note, ...]
    span: Span
    unread: frozenset[str] = frozenset()  # of QUANTITIES: what may be other than it looks
    placing: Placing = Placing()
    stray_sum: Span = NOWHERE  # a sum with a statistic that is no deviation from the mean
    laid_alike: bool = False  # the layouts matched where statistic and input met, whatever became of the product
    divisor: Span = NOWHERE  # the input, where it is divided by
    joined: Span = field(default=NOWHERE, compare=False)  # the first product of the input and the statistic
    tests: frozenset[tuple[str, bool]] = field(default=frozenset(), compare=False)  # in words, and how they came out

    @property
    def feature_power(self) -> Fraction | None:
        """The power of the feature count, None where some number isn't known."""
        if any(c.of_features is None for c in self.counts):
            return None
        return sum((c.power for c in self.counts if c.of_features), Fraction(0))

    @property
    def learned(self) -> frozenset[str]:
        """The names of the parameters that it is multiplied by, or that are added."""
        params = (*(g.param for g in self.gains), *self._beside())
        return frozenset(atom.name for atom in params if isinstance(atom, Param))

    @property
    def plain(self) -> bool:
        """What is multiplied and added besides gains is made of arguments and parameters, and was read."""
        return not self.unread and all(isinstance(atom, Input | Param) for atom in self._beside())

    def _beside(self) -> Iterator[Atom]:
        """What the other factors and the shift are made of; a call of nothing known is itself."""
        shift = self.shift.factors if self.shift is not None else ()
        for atom in (*self.others, *(f.atom for f in shift)):
            yield from list(leaves(Mono(1.0, (Factor(atom, ONCE),)))) or [atom]

    @property
    def scaled(self) -> bool:
        """A learned gain, or an argument of the function that scales what comes out, beside an eps under the root."""
        return bool(self.gains) or (self.protected and any(map(is_argument, self.others)))

    @property
    def protected(self) -> bool:
        """An eps is added under the root, as nobody needs it who doesn't mean to divide by it."""
        return any(e.how == "add" and e.power == 1 for e in self.eps)

    @property
    def after_exception(self) -> bool:
        """Is this the path of an `except`?"""
        return any(key.startswith(EXCEPTION) and taken for key, taken in self.tests)

    @property
    def guarded(self) -> bool:
        """A test may keep zeros out, as in `torch.where(n == 0, 1, n)`."""
        return any(s.op == "guard" for s in (*self.trail, *self.input_steps))

    @property
    def complete(self) -> bool:
        """The whole formula along one axis, and given back: a norm, whatever it is called."""
        rooted = self.degree == 2 and self.power == -HALF and self.kind != "l2" and self.statistic.biased
        axes = self.statistic.axes
        single = axes in (TRAILING, None) or (isinstance(axes, tuple) and len(axes) == 1 and axes[0] != 0)
        return rooted and single and self.returned and not self.partial

    @property
    def over_everything(self) -> bool:
        """Reduced without a dim, and more than a vector as far as the text tells."""
        return self.statistic.axes == ALL and not is_of_vector(self.statistic)

    @property
    def over_last(self) -> bool:
        """Is it reduced over the last axis, where features usually are?"""
        return self.statistic.axes in ((-1,), TRAILING)

    @property
    def sees_half(self) -> bool:
        """Can the input be fp16 or bf16 on this path?"""
        return bool(self.possible & HALVES) and self.entered is DType.INPUT

    @property
    def sees_fp16(self) -> bool:
        """Can the input be fp16 on this path?"""
        return "fp16" in self.possible and self.entered is DType.INPUT

    @property
    def gain_may_be_half(self) -> bool:
        """On this path the parameters are not known to be fp32."""
        return bool(self.possible_gain & HALVES)

    @property
    def standardises(self) -> bool:
        """(x − mean) / std with Bessel's correction: data, as far as nothing says that it is a norm."""
        return self.kind == "layer" and not self.statistic.biased

    @property
    def widened(self) -> Step | None:
        """The first cast of the statistic to fp32 or wider, after the square."""
        return next((s for s in self.own_steps() if s.op == "cast" and s.dtype is not None and s.dtype.wide), None)

    @property
    def explicit_square(self) -> bool:
        """The square itself overflows, not only its root: x * x, var, var_mean, a length to the power 2."""
        squared = any(s.op == "square" for s in self.own_steps())
        return squared or self.statistic.spelled not in LENGTHS.split()

    @property
    def is_length(self) -> bool:
        """A sum that nothing says is to be a mean."""
        return self.statistic.reduce == "sum" and not (
            self.gains or any(n.inside or n.of_features for n in self.counts)
        )

    @property
    def scaled_before(self) -> bool:
        """The input was divided by something of the data, such as its maximum: how large it is isn't known."""
        return any(f.power < 0 and bears_data(f.atom) for f in self.input.factors)

    @property
    def fused(self) -> bool:
        """Torch computes it in one call: statistics in fp32, an eps of its own."""
        return self.statistic.spelled in FUSED

    @property
    def casts(self) -> bool:
        """A norm, as its eps tells, that casts back to whatever dtype came in, or to a half."""
        return (self.protected or self.fused) and self.casts_back

    @property
    def casts_back(self) -> bool:
        """To whatever dtype came in, or to a half: who does that means to run in halves."""
        back = (DType.INPUT, DType.FP16, DType.BF16)
        return any(s.op == "cast" and s.dtype in back for s in (*self.trail, *self.input_steps))

    def own_steps(self) -> tuple[Step, ...]:
        """What happened to the statistic alone, not to the whole product."""
        shared = {s.span for s in self.input_steps}
        return tuple(s for s in self.trail if s.span not in shared)


def is_of_vector(stat: Stat) -> bool:
    """Of a tensor that has one axis, and was not made so by a view."""
    return stat.rank == 1 and (not stat.layout or is_row(stat.inner, stat.layout))


def is_argument(atom: Atom) -> bool:
    """A tensor that was passed, or one more than it."""
    inner = atom.inner.factors if isinstance(atom, Offset) else ()
    return isinstance(atom, Input) or (len(inner) == 1 and isinstance(inner[0].atom, Input))


@dataclass(frozen=True, slots=True)
class Owner:
    """The class or function that holds the norm, as far as rules ask about it."""

    name: str
    intent: str  # rms, layer, l2, norm, other or "", by its name
    module: bool  # an nn.Module
    method: bool  # a method of a class
    span: Span
    unused_eps: Span | None = None
    unused_groups: Span | None = None  # where their size or number is stored, which nothing reads
    takes_eps: bool = False  # by a parameter of the function or the constructor
    plain_gains: tuple[Param, ...] = ()  # tensors set as plain attributes
    unused_params: tuple[Param, ...] = ()
    handed_params: tuple[Param, ...] = ()  # that are read as arguments of calls alone
    settings: frozenset[str] = frozenset()  # what the constructor takes, and the function besides its input
    flags: frozenset[tuple[str, bool]] = frozenset()  # Boolean arguments of the constructor, with their defaults
    params: tuple[Param, ...] = ()
    filled: frozenset[str] = frozenset()  # attributes that somebody else may fill
    running: bool = False  # it keeps running statistics: a norm over the batch
    reinitialised: bool = False  # the text fills parameters anew, as `_init_weights` and `load_weights` do
    refilled: frozenset[str] = frozenset()  # what they put into the weight of this class: ones, zeros, random
    graph: bool = False  # it takes the `batch` that says which graph a row belongs to, or none where there is but one
    alone: bool = False  # a method of one tensor, of a module that owns no other module
    in_place: bool = False  # its name or a parameter says that the input is changed
    keeps: bool = False  # what comes of the input is an attribute afterwards: to undo the norm, say
    passes: bool = False  # it gives back what it was given, times parameters, and not what was normalised
    brought_back: bool = False  # what a layer makes of the normed input is multiplied by the deviation again
    undone: bool = False  # mean and deviation are attributes afterwards, or given back: who has them undoes the norm

    def makes(self, c: Computation) -> bool:
        """Nothing but a norm: a module whose forward gives back the whole formula, or a function with an RMS norm's."""
        if self.intent == "other" or not c.complete:
            return False
        kept = c.protected or (bool(c.eps) and (not c.explicit_square or c.casts_back))  # no recording's level
        return self.module or c.fused or self.unused_eps is not None or (c.kind == "rms" and kept)


@dataclass(frozen=True)
class Norm:
    """A norm and every path through it; the first computation is the straight one."""

    kind: str
    qualname: str
    span: Span  # the last product, the one that makes the norm
    spine: str  # the computation in the order of the code, for people
    owner: Owner
    computations: tuple[Computation, ...]
    helper: bool = False  # seen from inside a function that others in the text call: they judge it
    sentence: str = ""  # the same in words
    factor: bool = False  # the function that makes it doesn't give it back: it is one of a similarity, say
    either: bool = False  # on other paths its function gives a norm of another kind
    within: tuple[Span, ...] = ()  # every function that it comes about in
    wide: bool = field(default=False, compare=False)  # on some path its function gives back fp32, whatever comes in

    @property
    def main(self) -> Computation:
        """The computation on the straight path."""
        return self.computations[0]

    def as_read(self, about: Iterable[str]) -> Norm | None:
        """The norm along the paths on which all that can change these quantities was read; None if there are none."""
        wanted = frozenset(about)
        if not any(c.unread & wanted for c in self.computations):
            return self
        kept = tuple(c for c in self.computations if not c.unread & wanted)
        return replace(self, computations=kept) if kept else None

    @property
    def meant(self) -> bool:
        """A name, a learned gain or the whole formula says that a norm over features was meant."""
        named = self.owner.intent in ("rms", "layer", "norm")
        return named or any(c.scaled or self.owner.makes(c) for c in self.computations)

    @property
    def in_test(self) -> bool:
        """Is it defined in a test, which may use unusual numbers on purpose?"""
        return self.qualname.startswith(("test_", "Test"))

    @property
    def judged(self) -> tuple[Computation, ...]:
        """The computations that the rules for RMS and layer norms apply to: an L2 norm may do as it likes."""
        if self.owner.intent == "pixel":
            return ()
        return tuple(c for c in self.computations if c.kind != "l2" and (self.meant or not c.standardises))
