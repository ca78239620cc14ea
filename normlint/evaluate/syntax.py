"""The syntax tree that both interpreters evaluate: frozen nodes, each with its span.

An expression without a node class is an `Other`: its sub-expressions are evaluated, and its value is opaque. Fields
that aren't compared are only needed by the concrete interpreter, and `walk` skips them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Final, TypeAlias

from normlint.text.finding import Span
from normlint.text.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A node with its span in the text."""

    span: Span


@dataclass(frozen=True, slots=True)
class Expr(Node):
    """An expression."""


@dataclass(frozen=True, slots=True)
class Stmt(Node):
    """A statement."""


# --- expressions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name(Expr):
    id: str


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A literal: a number, a string, None, True, False or an ellipsis."""

    value: object


@dataclass(frozen=True, slots=True)
class Attribute(Expr):
    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """An argument of a call; `star` is "", "*" or "**", and `name` is the keyword or ""."""

    name: str
    star: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    func: Expr
    args: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """A binary operation; `op` is the operator as written: + - * / // % ** @ & | ^ << >>."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """A unary operation; `op` is - + ~ or not."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    left: Expr
    rights: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Logic(Expr):
    """A Boolean operation such as `a and b and c`; `op` is and or or."""

    op: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class IfExpr(Expr):
    test: Expr
    body: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Slice(Expr):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None

    @property
    def parts(self) -> tuple[Expr | None, Expr | None, Expr | None]:
        return (self.lower, self.upper, self.step)


@dataclass(frozen=True, slots=True)
class Subscript(Expr):
    base: Expr
    index: tuple[Expr, ...]
    several: bool = field(default=False, compare=False)  # the index is a tuple, as in `x[a,]`


@dataclass(frozen=True, slots=True)
class Sequence(Expr):
    """A tuple, list or set display; `kind` names it."""

    kind: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Mapping(Expr):
    """A dict display; a `**x` item has the key None."""

    items: tuple[tuple[Expr | None, Expr], ...]


@dataclass(frozen=True, slots=True)
class Starred(Expr):
    value: Expr


@dataclass(frozen=True, slots=True)
class Walrus(Expr):
    target: Name
    value: Expr


@dataclass(frozen=True, slots=True)
class Clause(Node):
    """A clause `for target in iterable if … if …` of a comprehension."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Expr):
    """A comprehension; `kind` is list, set, dict, generator or async; a dict has two elements, key and value."""

    kind: str
    elements: tuple[Expr, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Field(Node):
    """A field `{value!conversion:format}` of an f-string."""

    value: Expr
    conversion: str
    format: Expr | None


@dataclass(frozen=True, slots=True)
class Joined(Expr):
    """An f-string of strings and fields."""

    parts: tuple[str | Field, ...]


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A parameter; `star` is "", "*" or "**", `keyword` means keyword-only, and `places` positional-only."""

    name: str
    star: str
    keyword: bool
    annotation: Expr | None
    default: Expr | None
    places: bool = False

    @property
    def optional(self) -> bool:
        """Whether it is None by default."""
        return isinstance(self.default, Literal) and self.default.value is None


@dataclass(frozen=True, slots=True)
class Lambda(Expr):
    params: tuple[Parameter, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Other(Expr):
    """Any other expression; `word` is the name of its class in `ast`."""

    children: tuple[Expr, ...]
    word: str = field(default="", compare=False)


# Operators by their names in Python's `operator` module.
OPERATORS: Final = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip


# --- statements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    targets: tuple[Expr, ...]
    value: Expr
    annotation: Expr | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Augment(Stmt):
    """An augmented assignment `target op= value`; `op` is without the equals sign."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Evaluate(Stmt):
    """An expression statement, a `del` of its operands, or an annotation without a value."""

    value: Expr
    word: str = field(default="", compare=False)  # "", del or annotation
    target: Expr | None = field(default=None, compare=False)  # the annotated target


@dataclass(frozen=True, slots=True)
class Return(Stmt):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Raise(Stmt):
    """A `raise`, or (`asserted`) an `assert` that fails, whose message is the value."""

    value: Expr | None
    asserted: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Jump(Stmt):
    """A `break` or `continue`."""

    word: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Declare(Stmt):
    """A `global` or `nonlocal` declaration."""

    word: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class If(Stmt):
    test: Expr
    body: Block
    orelse: Block


@dataclass(frozen=True, slots=True)
class Loop(Stmt):
    """A `for` loop over the iterable `subject`, or (`target` None) a `while` loop with the test `subject`."""

    target: Expr | None
    subject: Expr
    body: Block
    orelse: Block


@dataclass(frozen=True, slots=True)
class With(Stmt):
    items: tuple[tuple[Expr, Expr | None], ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Try(Stmt):
    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    final: Block
    groups: bool  # `except*`


@dataclass(frozen=True, slots=True)
class Handler(Node):
    """A handler `except test as name`."""

    test: Expr | None
    name: str
    body: Block


@dataclass(frozen=True, slots=True)
class Match(Stmt):
    subject: Expr
    cases: tuple[tuple[Pattern, Expr | None, Block], ...]  # the middle one is the guard


@dataclass(frozen=True, slots=True)
class Pattern(Node):
    """A pattern; `kind` is the name of its class in `ast` without "Match", and `name` the name that it binds."""

    kind: str
    value: Expr | None = None
    name: str | None = None
    parts: tuple[Pattern, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the pattern and its parts bind."""
        return ((self.name,) if self.name else ()) + tuple(name for part in self.parts for name in part.names)


@dataclass(frozen=True, slots=True)
class Function(Stmt):
    name: str
    params: tuple[Parameter, ...]
    made: Block | Callable[[], Block]  # the body, or a function that returns it
    decorators: tuple[Expr, ...]
    head: Span  # the name
    odd: str = field(default="", compare=False)  # an unsupported feature: async or type parameters

    @property
    def body(self) -> Block:
        if callable(self.made):
            object.__setattr__(self, "made", self.made())
        return self.made  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Class(Stmt):
    name: str
    bases: tuple[Expr, ...]
    body: Block
    head: Span  # the name
    keywords: tuple[str, ...] = field(default=(), compare=False)
    decorators: tuple[Expr, ...] = field(default=(), compare=False)
    odd: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Import(Stmt):
    """An import, as (local name, dotted path) pairs; a star import has none."""

    bindings: tuple[tuple[str, str], ...]


Block: TypeAlias = tuple[Stmt, ...]
