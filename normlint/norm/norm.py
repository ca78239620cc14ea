"""Define the data classes of a recognised norm: all that rules, reports and the verifier know of the user's code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from fractions import Fraction
from typing import Final, TypeAlias

from normlint.evaluate.context import EXCEPTION, Note
from normlint.evaluate.dtypes import HALVES, DType
from normlint.evaluate.monomial import (
    ALL,
    NOWHERE,
    TRAILING,
    Atom,
    Input,
    Mono,
    Offset,
    Param,
    Stat,
    Step,
    bears_data,
    is_row,
    leaves,
    mono_of,
)
from normlint.evaluate.ops.fused import FUSED
from normlint.text.finding import Span
from normlint.text.frozen import dataclass, replace
from normlint.text.operations import LENGTHS

HALF = Fraction(1, 2)
LARGE = 1e-2  # an eps of this size is as large as the mean square of real activations
QUANTITIES = ("axes", "keepdim", "scale", "power", "eps", "dtype")  # the parts of a norm that rules judge


@dataclass(frozen=True, slots=True)
class Eps:
    """An eps that keeps the root from zero. `power`: that of the mean square that it joins; 1 is inside the root."""

    how: str  # add, clamp
    power: Fraction
    value: float | None  # if the text fixes it
    default: float | None  # if a caller may pass another
    name: str
    dtype: DType
    span: Span  # the sum or clamp
    at: Span  # the eps itself
    written: bool = False  # it is written as a number at that place


@dataclass(frozen=True, slots=True)
class Gain:
    """A learned factor. `offset`: the 1 of 1 + w; `dtype`: that of the sum; `cast`: the parameter's first cast.

    `squared`: it is written as a square, and not multiplied twice.
    """

    param: Param
    offset: float | None
    power: Fraction
    span: Span
    dtype: DType = field(default=DType.UNKNOWN, compare=False)
    cast: Step | None = field(default=None, compare=False)
    squared: bool = field(default=False, compare=False)


A_NUMBER: Final = "a number"  # the text of a count that is a literal


@dataclass(frozen=True, slots=True)
class Count:
    """A number of elements in the product; `of_features`: whether it is the reduced axes' length (None: unknown)."""

    text: str
    power: Fraction
    of_features: bool | None
    span: Span
    inside: bool = False  # it joined the statistic before the root
    less: bool = False  # one less than the number of elements
    length: bool = False  # it is read from a tensor of the formula, as in `x.shape[0]`
    operands: tuple[Span, ...] = field(default=(), compare=False)  # the operands that multiply or divide tensors by it


@dataclass(frozen=True, slots=True)
class Placing:
    """The position of a norm's axes, as far as shapes tell it; None and () where they don't."""

    names: tuple[str, ...] = ()  # of the axes of the reduced tensor
    over_last: bool | None = None  # the one reduced axis is the last one
    along_gain: bool | None = None  # the gain lies along a reduced axis
    over_tokens: bool = False  # it reduces the tokens, and not the last axis, which has the features
    apart: bool = False  # the centre is the mean along other axes than the statistic's
    fits: bool | None = None  # the statistic broadcasts as one that keeps its axis would
    centre_fits: bool | None = None
    single: bool = False  # on this path the batch has one item, so that reducing everything reduces that item

    @property
    def shown(self) -> str:
        """Return the shape for a message."""
        return f"({', '.join(self.names)})" if self.names else "(B, L, D)"

    @property
    def suffix(self) -> str:
        """Return a message's end that names the input's shape; empty if that isn't known."""
        return f" of a {self.shown} tensor" if self.names else ""


Tests: TypeAlias = frozenset[tuple[str, bool]]  # conditions, and their outcomes


@dataclass(frozen=True)
class Computation:
    """The formula on one path through the code: gain · input^1 · (mean square)^power, with every step on the way."""

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
    partial: bool  # only the inverse root is returned
    entered: DType  # INPUT if a caller may pass any dtype, UNKNOWN if the callers are elsewhere
    output: DType
    possible: frozenset[str]  # what the input's dtype can be on this path
    possible_gain: frozenset[str]  # what the parameters' dtype can be on this path
    returned: bool
    grad: bool
    notes: tuple[Note, ...]
    span: Span
    unread: frozenset[str] = frozenset()  # the QUANTITIES that something unread may change
    placing: Placing = Placing()
    stray_sum: Span = NOWHERE  # a sum with a statistic that is no deviation from the mean
    laid_alike: bool = False  # the layouts matched where statistic and input met, and the product kept it
    apart: bool = False  # they didn't match there: a view was reduced, and the input met the statistic without it
    divisor: Span = NOWHERE  # the input, if the formula divides by it
    joined: Span = field(default=NOWHERE, compare=False)  # the first product of the input and the statistic
    tests: Tests = field(default=frozenset(), compare=False)
    needed: Tests = field(default=frozenset(), compare=False)  # those that hold on all paths with it

    @property
    def feature_power(self) -> Fraction | None:
        """Return the total power of the feature count; None if some number may or may not be that count."""
        if any(c.of_features is None for c in self.counts):
            return None
        return sum((c.power for c in self.counts if c.of_features), Fraction(0))

    @property
    def learned(self) -> frozenset[str]:
        """Return the names of the parameters that the norm is multiplied by or that are added to it."""
        params = (*(g.param for g in self.gains), *self._beside())
        return frozenset(atom.name for atom in params if isinstance(atom, Param))

    @property
    def plain(self) -> bool:
        """Return whether everything was read, and the other factors and the shift are arguments and parameters."""
        return not self.unread and all(isinstance(atom, Input | Param) for atom in self._beside())

    def _beside(self) -> Iterator[Atom]:
        """Yield the leaves of the other factors and of the shift; an atom without leaves is yielded itself."""
        shift = self.shift.factors if self.shift is not None else ()
        for atom in (*self.others, *(f.atom for f in shift)):
            yield from list(leaves(mono_of(atom))) or [atom]

    @property
    def scaled(self) -> bool:
        """Return whether it has a learned gain, or an argument that scales the result beside an eps under the root."""
        return bool(self.gains) or (self.protected and any(map(is_argument, self.others)))

    @property
    def protected(self) -> bool:
        """Return whether an eps is added under the root, which only code needs that means to divide by it."""
        return any(e.how == "add" and e.power == 1 for e in self.eps)

    @property
    def after_exception(self) -> bool:
        """Return whether this path runs through an `except`."""
        return any(key.startswith(EXCEPTION) and taken for key, taken in self.tests)

    @property
    def guarded(self) -> bool:
        """Return whether a test may keep zeros out, as in `torch.where(n == 0, 1, n)`."""
        return any(s.op == "guard" for s in (*self.trail, *self.input_steps))

    @property
    def complete(self) -> bool:
        """Return whether the whole formula of a norm along one axis is computed and returned."""
        rooted = self.degree == 2 and self.power == -HALF and self.kind != "l2" and self.statistic.biased
        axes = self.statistic.axes
        single = axes in (TRAILING, None) or (isinstance(axes, tuple) and len(axes) == 1 and axes[0] != 0)
        return rooted and single and self.returned and not self.partial

    @property
    def over_everything(self) -> bool:
        """Return whether the statistic is reduced without a dim, of a tensor that isn't known to be a vector."""
        return self.statistic.axes == ALL and not is_of_vector(self.statistic)

    @property
    def over_last(self) -> bool:
        """Return whether the statistic reduces the last axis, where features usually are."""
        return self.statistic.axes in ((-1,), TRAILING)

    @property
    def sees_half(self) -> bool:
        """Return whether the input may be fp16 or bf16 on this path."""
        return bool(self.possible & HALVES) and self.entered is DType.INPUT

    @property
    def sees_fp16(self) -> bool:
        """Return whether the input may be fp16 on this path."""
        return "fp16" in self.possible and self.entered is DType.INPUT

    @property
    def gain_may_be_half(self) -> bool:
        """Return whether the parameters may be fp16 or bf16 on this path."""
        return bool(self.possible_gain & HALVES)

    @property
    def standardises(self) -> bool:
        """Return whether this is (x − mean) / std with Bessel's correction, as it is applied to data."""
        return self.kind == "layer" and not self.statistic.biased

    @property
    def widened(self) -> Step | None:
        """Return the first cast of the statistic to fp32 or wider, after the square; None if there is none."""
        return next((s for s in self.own_steps() if s.op == "cast" and s.dtype is not None and s.dtype.wide), None)

    @property
    def explicit_square(self) -> bool:
        """Return whether the square itself overflows, not only its root: x * x, var, var_mean, a length squared."""
        squared = any(s.op == "square" for s in self.own_steps())
        return squared or self.statistic.spelled not in LENGTHS.split()

    @property
    def is_length(self) -> bool:
        """Return whether the statistic is a sum, and neither a gain nor a count says that it is to be a mean."""
        scaled = bool(self.gains) or any(n.inside or n.of_features for n in self.counts)
        return self.statistic.reduce == "sum" and not scaled

    @property
    def scaled_before(self) -> bool:
        """Return whether the input was divided by something computed from data, which hides how large it is."""
        return any(f.power < 0 and bears_data(f.atom) for f in self.input.factors)

    @property
    def fused(self) -> bool:
        """Return whether torch computes the norm in one call, with statistics in fp32 and an eps of its own."""
        return self.statistic.spelled in FUSED

    @property
    def casts(self) -> bool:
        """Return whether a norm with an eps, or a fused one, casts back to the input's dtype or to a half."""
        return (self.protected or self.fused) and self.casts_back

    @property
    def casts_back(self) -> bool:
        """Return whether a step casts to the input's dtype or to a half, as code does that is to run in halves."""
        back = (DType.INPUT, DType.FP16, DType.BF16)
        return any(s.op == "cast" and s.dtype in back for s in (*self.trail, *self.input_steps))

    def own_steps(self) -> tuple[Step, ...]:
        """Return the steps that apply to the statistic alone, not to the whole product."""
        shared = {s.span for s in self.input_steps}
        return tuple(s for s in self.trail if s.span not in shared)


def is_of_vector(stat: Stat) -> bool:
    """Return whether a statistic is taken of a tensor that has one axis, and was not made so by a view."""
    return stat.rank == 1 and (not stat.layout or is_row(stat.inner, stat.layout))


def is_argument(atom: Atom) -> bool:
    """Return whether an atom is a tensor that was passed, or one plus such a tensor."""
    inner = atom.inner.factors if isinstance(atom, Offset) else ()
    return isinstance(atom, Input) or (len(inner) == 1 and isinstance(inner[0].atom, Input))


@dataclass(frozen=True, slots=True)
class Owner:
    """The class or function that holds a norm, as far as rules ask about it."""

    name: str
    intent: str  # rms, layer, l2, norm, other or "", by its name
    module: bool  # an nn.Module
    method: bool  # a method of a class
    span: Span
    unused_eps: Span | None = None
    unused_groups: Span | None = None  # where a size or number of groups is stored that nothing reads
    takes_eps: bool = False  # as a parameter of the function or the constructor
    plain_gains: tuple[Param, ...] = ()  # tensors set as plain attributes
    unused_params: tuple[Param, ...] = ()
    handed_params: tuple[Param, ...] = ()  # those read only as arguments of calls
    settings: frozenset[str] = frozenset()  # parameters of the constructor, and of the function besides its input
    flags: frozenset[tuple[str, bool]] = frozenset()  # Boolean arguments of the constructor, with their defaults
    params: tuple[Param, ...] = ()
    filled: frozenset[str] = frozenset()  # attributes that other code may fill
    running: bool = False  # it keeps running statistics: a norm over the batch
    reinitialised: bool = False  # the text fills parameters anew, as `_init_weights` and `load_weights` do
    refilled: frozenset[tuple[str, str]] = frozenset()  # what those functions fill gains with: ones, zeros, random
    graph: bool = False  # it takes a `batch` that assigns rows to graphs, None for a single graph
    alone: bool = False  # a method that takes one tensor, of a module without submodules
    in_place: bool = False  # its name or a parameter says that the input is changed
    detaches: bool = False  # its docstring says that no gradient is to flow
    keeps: bool = False  # it stores something computed from the input as an attribute, to undo the norm, say
    loses: bool = False  # its forward returns nothing, and leaves nothing behind
    passes: bool = False  # it returns its input times parameters, and not what was normalised
    brought_back: bool = False  # a layer's result for the normed input is multiplied by the deviation again
    undone: bool = False  # it stores or returns mean and deviation, with which the norm is undone

    def makes(self, c: Computation) -> bool:
        """Return whether it is nothing but a norm: a module that returns a whole formula, or an RMS norm's function."""
        if self.intent == "other" or not c.complete:
            return False
        kept = c.protected or (bool(c.eps) and (not c.explicit_square or c.casts_back))  # no level of a recording
        return self.module or c.fused or self.unused_eps is not None or (c.kind == "rms" and kept)


@dataclass(frozen=True)
class Norm:
    """A norm and every path through it; the first computation is that of the straight path."""

    kind: str
    qualname: str
    span: Span  # the product that completes the norm
    spine: str  # the computation in the order of the code, for people
    owner: Owner
    computations: tuple[Computation, ...]
    helper: bool = False  # found in a function that others in the text call, where it is judged
    sentence: str = ""  # the computation in words
    factor: bool = False  # its function doesn't return it: it is part of a similarity, say
    either: bool = False  # on other paths its function returns a norm of another kind
    within: tuple[Span, ...] = ()  # every function that it is computed in
    wide: bool = field(default=False, compare=False)  # on some path its function returns fp32, whatever it is given

    @property
    def main(self) -> Computation:
        """Return the computation on the straight path."""
        return self.computations[0]

    def as_read(self, about: Iterable[str]) -> Norm | None:
        """Return the norm along the paths on which nothing unread changes these quantities; None if there are none."""
        wanted = frozenset(about)
        if not any(c.unread & wanted for c in self.computations):
            return self
        kept = tuple(c for c in self.computations if not c.unread & wanted)
        return replace(self, computations=kept) if kept else None

    @property
    def meant(self) -> bool:
        """Return whether a name, a learned gain or the whole formula says that a norm over features was meant."""
        named = self.owner.intent in ("rms", "layer", "norm", "groups")
        return named or any(c.scaled or self.owner.makes(c) for c in self.computations)

    @property
    def outside_forward(self) -> bool:
        """Return whether it stands in another method than forward, whose callers may cast and scale besides."""
        return self.owner.method and not self.qualname.rpartition(".")[2].startswith(("forward", "__call__"))

    @property
    def in_test(self) -> bool:
        """Return whether it is defined in a test, which may use unusual numbers on purpose."""
        return self.qualname.startswith(("test_", "Test"))

    @property
    def judged(self) -> tuple[Computation, ...]:
        """Return the computations that the rules for RMS and layer norms apply to; L2 norms are not among them."""
        if self.owner.intent == "pixel":
            return ()
        return tuple(c for c in self.computations if c.kind != "l2" and (self.meant or not c.standardises))
