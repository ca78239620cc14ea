"""The Python that the evaluation sees: a small tree of frozen nodes, each with its span.

What has no node of its own is an `Other` with its sub-expressions: evaluated for what they do, then opaque.
Fields that aren't compared hold what only the concrete domain needs to know; `walk` passes them by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Final, TypeAlias

from normlint.text.finding import Span
from normlint.text.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """Anything with a place in the text."""

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
    """A number, a string, None, True, False or ..."""

    value: object


@dataclass(frozen=True, slots=True)
class Attribute(Expr):
    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """`star` is "", "*" or "**"; `name` is the keyword, if any."""

    name: str
    star: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    func: Expr
    args: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """`op` is the operator as written: + - * / // % ** @ & | ^ << >>."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """`op` is - + ~ or not."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    left: Expr
    rights: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Logic(Expr):
    """`a and b and c`, `a or b`."""

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


@dataclass(frozen=True, slots=True)
class Subscript(Expr):
    base: Expr
    index: tuple[Expr, ...]
    several: bool = field(default=False, compare=False)  # the index is a tuple, also `x[a,]`


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
    """`for target in iterable if … if …`."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Expr):
    """`kind` is list, set, dict, generator or async; a dict's elements are two."""

    kind: str
    elements: tuple[Expr, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Field(Node):
    """`{value!conversion:format}` in an f-string."""

    value: Expr
    conversion: str
    format: Expr | None


@dataclass(frozen=True, slots=True)
class Joined(Expr):
    """An f-string: strings and fields."""

    parts: tuple[str | Field, ...]


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """`star` is "", "*" or "**"; `keyword` says keyword-only, `places` positional-only."""

    name: str
    star: str
    keyword: bool
    annotation: Expr | None
    default: Expr | None
    places: bool = False


@dataclass(frozen=True, slots=True)
class Lambda(Expr):
    params: tuple[Parameter, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Other(Expr):
    """`word` says what Python's parser calls it."""

    children: tuple[Expr, ...]
    word: str = field(default="", compare=False)


# Operators by the names that Python's `operator` module, and the methods of a class, have for them.
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
    """`target op= value`; `op` without the equals sign."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Evaluate(Stmt):
    """An expression as a statement; also `del`, whose operands are evaluated, and an annotation without a value."""

    value: Expr
    word: str = field(default="", compare=False)  # del, or annotation
    target: Expr | None = field(default=None, compare=False)  # of the annotation


@dataclass(frozen=True, slots=True)
class Return(Stmt):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Raise(Stmt):
    """`asserted`: of an `assert`, whose message is the value."""

    value: Expr | None
    asserted: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Jump(Stmt):
    """break, continue."""

    word: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Declare(Stmt):
    """global, nonlocal."""

    word: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class If(Stmt):
    test: Expr
    body: Block
    orelse: Block


@dataclass(frozen=True, slots=True)
class Loop(Stmt):
    """for (with a target and an iterable) or while (with a test, `target` None)."""

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
    """`except test as name`."""

    test: Expr | None
    name: str
    body: Block


@dataclass(frozen=True, slots=True)
class Match(Stmt):
    subject: Expr
    cases: tuple[tuple[Pattern, Expr | None, Block], ...]  # the middle one is the guard


@dataclass(frozen=True, slots=True)
class Pattern(Node):
    """`kind` is what Python's parser calls it, without "Match"; `name` is what it binds."""

    kind: str
    value: Expr | None = None
    name: str | None = None
    parts: tuple[Pattern, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All that it binds, with its parts."""
        return ((self.name,) if self.name else ()) + tuple(name for part in self.parts for name in part.names)


@dataclass(frozen=True, slots=True)
class Function(Stmt):
    name: str
    params: tuple[Parameter, ...]
    made: Block | Callable[[], Block]  # its statements, or what makes them when they are first asked for
    decorators: tuple[Expr, ...]
    head: Span  # the name
    odd: str = field(default="", compare=False)  # async, or type parameters

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
    decorated: tuple[Expr, ...] = field(default=(), compare=False)
    odd: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Import(Stmt):
    """(local name, dotted path) pairs; a star import binds nothing."""

    bindings: tuple[tuple[str, str], ...]


Block: TypeAlias = tuple[Stmt, ...]
