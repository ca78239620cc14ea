"""What one replay of a function knows and notes: ranks, the gradient mode, decisions, and what flowed where."""

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

EXCEPTION = "except at"  # what a decision is called that leads into an `except`, before its place
MAX_STEPS = 8_000  # expressions evaluated in one replay
ENOUGH_STEPS = 2_500  # after as many no further replay of an entry is begun,
ENOUGH_ONCE_MET = 1_250  # or after as many if no reduction is passed by,
ENOUGH_IN_VAIN = 600  # or after as many if no statistic has met its input, either
MAX_SPENT = 50_000  # nor after as many in all replays of one module


class Abandon(Exception):  # noqa: N818  (it is how a path ends, no error)
    """The path ends here: it raises, contradicts itself, or is too long to follow."""


class Exhausted(Abandon):
    """The path is too long; what it showed so far still counts."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A product that reached a name, a return or a call: where a norm may be complete."""

    product: Product
    span: Span
    owner: str  # the qualified name of the function it happened in
    returned: bool  # by the entry itself
    grad: bool


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened on the way: `kind` is print (its detail "words": of no value) or mutation."""

    kind: str
    span: Span
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Fork:
    """Decisions that chose between two stretches of the text: the one not taken, and all that hangs on them."""

    keys: tuple[str, ...]
    other: Span
    whole: Span


@dataclass
class Context:
    """The state of one replay. `plan` fixes the first decisions; the others take their default and are noted."""

    plan: dict[str, bool]
    input_dtype: DType = DType.INPUT
    decisions: dict[str, bool] = field(default_factory=dict)
    possible: dict[DType, frozenset[str]] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=Shapes)
    flows: list[Flow] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    ran: set[Span] = field(default_factory=set)  # the operations that were reached
    grad: bool = True
    vague: bool = False  # a test of a dtype could not be followed
    quiet: bool = False  # inside a debug branch
    prefer: bool | None = None  # the outcome that leads to a reduction, while a test is decided
    prefer_result: tuple[bool | None, int] = (None, 0)  # the same for the result of a function that it calls: its frame
    configs: dict[str, Value] = field(default_factory=dict)  # by a parameter's name: the class it is annotated with
    asked: dict[str, Product] = field(default_factory=dict)  # by the words of a rank: whose it is
    steps: int = 0
    open: list[str] = field(default_factory=list)  # decisions asked for that no fork has claimed yet
    forks: list[Fork] = field(default_factory=list)
    carriers: set[str] = field(default_factory=set)  # names that held a statistic
    entered: set[Span] = field(default_factory=set)  # the functions that were run
    called: set[Span] = field(default_factory=set)  # every call that was reached
    wrapped: set[Span] = field(default_factory=set)  # calls of a norm of torch's that is its class's only layer
    handed: list[tuple[Opaque, Product]] = field(default_factory=list)  # modules of the text, and what they were given

    returned_tuples: list[Tup] = field(default_factory=list)  # what a function gave back at once
    shown: dict[Any, Product] = field(default_factory=dict)  # what a value that isn't followed is by its numbers
    # Of all paths: how such a value was made, whose numbers show nothing, and what has none.
    recipes: dict[Any, Any] = field(default_factory=dict)
    unmatched: set[Any] = field(default_factory=set)
    unmade: set[Any] = field(default_factory=set)
    numbers: list[int] = field(default_factory=lambda: [0])  # how many were worked out for that

    @property
    def gathered(self) -> int:
        """How much there is to copy, as far as it grows with every step."""
        return len(self.flows) + len(self.ran) + len(self.called) + len(self.decisions) + len(self.forks)

    def copy(self, plan: dict[str, bool] | None = None) -> Context:
        """All that is known and noted so far, to go on from with another plan."""
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
        """The outcome of the test `key` on this path: the same each time it is asked."""
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
        """Whether the dtype is one of `to` on this path; the set of possible dtypes shrinks accordingly."""
        now = self.possible.get(subject, FLOATS)
        if not now & to:
            return False
        if now <= to:
            return True
        outcome = self.decide(key)
        self.possible[subject] = now & to if outcome else now - to
        return outcome

    def dims(self, product: Product) -> Dims:
        """The shape of a value, as far as it is known."""
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
        """The number of axes; where it isn't known, a symbol that a later test may fix."""
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
        """The gradient is on or off in a `with` block."""
        before, self.grad = self.grad, on
        yield
        self.grad = before
