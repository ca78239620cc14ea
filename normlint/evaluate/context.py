"""The state of the evaluation along one path: shapes, decisions, gradient mode, and the values and notes recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from normlint.evaluate.dims import SCALAR, Dims, Shapes
from normlint.evaluate.dtypes import FLOATS, DType
from normlint.evaluate.value import Opaque, Product, Tup, Value, number, scalar
from normlint.text.finding import Span
from normlint.text.frozen import dataclass

EXCEPTION = "except at"  # the key of a decision to enter an `except` begins with this
MAX_STEPS = 8_000  # expressions evaluated on one path
# No further path of an entry is evaluated after so many steps:
ENOUGH_STEPS = 2_500  # in any case
ENOUGH_ONCE_MET = 1_250  # if no path to a missed reduction is left
ENOUGH_IN_VAIN = 600  # if, besides, no statistic has met its input
MAX_SPENT = 50_000  # steps for all entries of one module


class Abandon(Exception):  # noqa: N818  (the end of a path, not an error)
    """The path ends: it raises an exception or is too long."""


class Exhausted(Abandon):
    """The path is too long; what was recorded so far still counts."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A product that reached a name, a return or a call, and so may be a complete norm."""

    product: Product
    span: Span
    owner: str  # the qualified name of the running function
    returned: bool  # by the entry itself
    grad: bool


@dataclass(frozen=True, slots=True)
class Note:
    """An event on the path, such as a mutation, or a print (with the detail "words" if it prints only constants)."""

    kind: str
    span: Span
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Fork:
    """Decisions that chose between two parts of `whole`, of which `other` is the one not taken."""

    keys: tuple[str, ...]
    other: Span
    whole: Span


@dataclass
class Context:
    """The state of one path. `plan` fixes some decisions; the others take their default and are recorded."""

    plan: dict[str, bool]
    input_dtype: DType = DType.INPUT
    decisions: dict[str, bool] = field(default_factory=dict)
    possible: dict[DType, frozenset[str]] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=Shapes)
    flows: list[Flow] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    ran: set[Span] = field(default_factory=set)  # operations that were evaluated
    grad: bool = True
    vague: bool = False  # the outcome of a test of a dtype is unknown
    quiet: bool = False  # inside a branch for debugging
    prefer: bool | None = None  # during a test: the outcome that leads to a reduction
    prefer_result: tuple[bool | None, int] = (None, 0)  # for the result of a called function, and its frame
    configs: dict[str, Value] = field(default_factory=dict)  # by parameter: the config class that annotates it
    asked: dict[str, Product] = field(default_factory=dict)  # by the description of a rank: its tensor
    steps: int = 0
    open: list[str] = field(default_factory=list)  # decisions that belong to no fork yet
    forks: list[Fork] = field(default_factory=list)
    carriers: set[str] = field(default_factory=set)  # names that held a statistic
    entered: set[Span] = field(default_factory=set)  # functions that were run
    called: set[Span] = field(default_factory=set)  # calls that were evaluated
    wrapped: set[Span] = field(default_factory=set)  # calls of a torch norm that is the only layer of its class
    handed: list[tuple[Opaque, Product]] = field(default_factory=list)  # modules of the text, with their inputs

    returned_tuples: list[Tup] = field(default_factory=list)  # tuples that functions returned
    shown: dict[Any, Product] = field(default_factory=dict)  # simpler values that numbers show (see `ops.measured`)
    # Shared by all paths: how values were computed, values that match nothing, and values without numbers.
    recipes: dict[Any, Any] = field(default_factory=dict)
    unmatched: set[Any] = field(default_factory=set)
    unmade: set[Any] = field(default_factory=set)
    numbers: list[int] = field(default_factory=lambda: [0])  # count of array elements computed

    @property
    def gathered(self) -> int:
        """The number of recorded items that a copy has to copy."""
        return len(self.flows) + len(self.ran) + len(self.called) + len(self.decisions) + len(self.forks)

    def copy(self, plan: dict[str, bool] | None = None) -> Context:
        """Return a copy, perhaps with another plan, from which another path continues."""
        # fmt: off
        return Context(
            self.plan if plan is None else plan, self.input_dtype, self.decisions.copy(), self.possible.copy(),
            self.shapes.copy(), self.flows.copy(), self.notes.copy(), self.ran.copy(), self.grad, self.vague,
            self.quiet, None, self.prefer_result, self.configs.copy(), self.asked.copy(), self.steps, self.open.copy(),
            self.forks.copy(), self.carriers.copy(), self.entered.copy(), self.called.copy(), self.wrapped.copy(),
            self.handed.copy(), self.returned_tuples.copy(), self.shown.copy(), self.recipes,
            self.unmatched, self.unmade, self.numbers,
        )
        # fmt: on

    def tick(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Exhausted

    def decide(self, key: str, default: bool = False) -> bool:
        """Return the outcome of the test `key`, which is the same each time on this path."""
        self.open.append(key)
        if key not in self.decisions:
            self.decisions[key] = self.plan.get(key, default if self.prefer is None else self.prefer)
        return self.decisions[key]

    def fork(self, since: int, other: Span, whole: Span) -> None:
        """Record that the decisions since number `since` chose between `other` and the rest of `whole`."""
        if len(self.open) > since:
            self.forks.append(Fork(tuple(self.open[since:]), other, whole))
            del self.open[since:]

    def narrow(self, subject: DType, to: frozenset[str], key: str) -> bool:
        """Return whether a dtype is one of `to` on this path, and narrow its possible dtypes accordingly."""
        now = self.possible.get(subject, FLOATS)
        if not now & to:
            return False
        if now <= to:
            return True
        outcome = self.decide(key)
        self.possible[subject] = now & to if outcome else now - to
        return outcome

    def dims(self, product: Product) -> Dims:
        """Return the shape of a value, a new one if nothing is known of it."""
        if product.shape is not None:
            return product.shape
        if not product.tensor:
            return SCALAR
        key = product.mono, product.layout
        if key not in self.shapes.held:
            self.shapes.held[key] = self.shapes.free()
        return self.shapes.held[key]

    def rank(self, product: Product) -> int | None:
        return self.shapes.rank(self.dims(product))

    def ask_rank(self, product: Product, words: str) -> Product:
        """Return the rank of a tensor; if it is unknown, a symbol that a later test may fix."""
        rank = self.rank(product)
        if rank is not None:
            return number(float(rank))
        self.asked[words] = product
        return scalar(words)

    def learn_rank(self, product: Product, rank: int) -> None:
        self.shapes.learn_rank(self.dims(product), rank)

    def note(self, kind: str, span: Span, detail: str = "") -> None:
        if not self.quiet:
            self.notes.append(Note(kind, span, detail))

    @contextmanager
    def grad_mode(self, on: bool) -> Iterator[None]:
        """Turn gradients on or off in a `with` block."""
        before, self.grad = self.grad, on
        yield
        self.grad = before
