"""The Python that the evaluation sees: a small tree of frozen nodes, each with its span.

What has no node of its own is an `Other` with its sub-expressions: evaluated for what they do, then opaque.
Fields that aren't compared hold what only the concrete domain needs to know; `walk` passes them by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TypeAlias

from normlint.text.finding import Span
from normlint.text.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """Anything with a place in the text."""

    span: Span


# --- expressions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name(Node):
    id: str


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, a string, None, True, False or ..."""

    value: object


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """`star` is "", "*" or "**"; `name` is the keyword, if any."""

    name: str
    star: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    func: Expr
    args: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`op` is the operator as written: + - * / // % ** @ & | ^ << >>."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`op` is - + ~ or not."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Compare(Node):
    left: Expr
    rights: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`left and right`, `left or right`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class IfExpr(Node):
    test: Expr
    body: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Slice(Node):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Subscript(Node):
    base: Expr
    index: tuple[Expr, ...]
    several: bool = field(default=False, compare=False)  # the index is a tuple, also `x[a,]`


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """A tuple, list or set display; `kind` names it."""

    kind: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Mapping(Node):
    """A dict display; a `**x` item has the key None."""

    items: tuple[tuple[Expr | None, Expr], ...]


@dataclass(frozen=True, slots=True)
class Starred(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class Walrus(Node):
    target: Name
    value: Expr


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """`element for target in iterable` (one level; the others are read as `Other`)."""

    element: Expr
    target: Expr
    iterable: Expr
    exact: Comprehended = field(compare=False)


@dataclass(frozen=True, slots=True)
class Clause(Node):
    """`for target in iterable if … if …`."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehended(Node):
    """A whole comprehension; `kind` is list, set, dict or generator, and a dict's elements are two."""

    kind: str
    elements: tuple[Expr, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Field(Node):
    """`{value!conversion:format}` in an f-string."""

    value: Expr
    conversion: str
    format: Joined | None


@dataclass(frozen=True, slots=True)
class Joined(Node):
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
class Lambda(Node):
    params: tuple[Parameter, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Other(Node):
    """`word` says what Python's parser calls it."""

    children: tuple[Expr, ...]
    exact: Joined | Comprehended | None = field(default=None, compare=False)
    word: str = field(default="", compare=False)


Expr: TypeAlias = (
    Name
    | Literal
    | Attribute
    | Call
    | Binary
    | Unary
    | Compare
    | Logic
    | IfExpr
    | Slice
    | Subscript
    | Sequence
    | Mapping
    | Starred
    | Walrus
    | Comprehension
    | Lambda
    | Other
)


# --- statements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign(Node):
    targets: tuple[Expr, ...]
    value: Expr
    annotation: Expr | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Augment(Node):
    """`target op= value`; `op` without the equals sign."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """An expression as a statement; also `del`, whose operands are evaluated, and an annotation without a value."""

    value: Expr
    word: str = field(default="", compare=False)  # del, or annotation
    target: Expr | None = field(default=None, compare=False)  # of the annotation


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Raise(Node):
    """`asserted`: of an `assert`, whose message is the value."""

    value: Expr | None
    asserted: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Jump(Node):
    """break, continue."""

    word: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """global, nonlocal."""

    word: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class If(Node):
    test: Expr
    body: Block
    orelse: Block


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """for (with a target and an iterable) or while (with a test, `target` None)."""

    target: Expr | None
    subject: Expr
    body: Block
    orelse: Block


@dataclass(frozen=True, slots=True)
class With(Node):
    items: tuple[tuple[Expr, Expr | None], ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Try(Node):
    body: Block
    handlers: tuple[Block, ...]
    orelse: Block
    final: Block
    catches: tuple[tuple[Expr | None, str], ...] | None = field(default=None, compare=False)  # None: `except*`


@dataclass(frozen=True, slots=True)
class Match(Node):
    subject: Expr
    cases: tuple[tuple[tuple[str, ...], Block], ...]
    patterns: tuple[tuple[Pattern, Expr | None], ...] = field(default=(), compare=False)  # with their guards


@dataclass(frozen=True, slots=True)
class Pattern(Node):
    """`kind` is what Python's parser calls it, without "Match"; `name` is what it binds."""

    kind: str
    value: Expr | None = None
    name: str | None = None
    parts: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Function(Node):
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
class Class(Node):
    name: str
    bases: tuple[Expr, ...]
    body: Block
    head: Span  # the name
    keywords: tuple[str, ...] = field(default=(), compare=False)
    decorated: tuple[Expr, ...] = field(default=(), compare=False)
    odd: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Import(Node):
    """(local name, dotted path) pairs; a star import binds nothing."""

    bindings: tuple[tuple[str, str], ...]


Stmt: TypeAlias = (
    Assign
    | Augment
    | Evaluate
    | Return
    | Raise
    | Jump
    | Declare
    | If
    | Loop
    | With
    | Try
    | Match
    | Function
    | Class
    | Import
)
Block: TypeAlias = tuple[Stmt, ...]
