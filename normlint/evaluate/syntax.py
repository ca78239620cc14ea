"""The Python that the evaluation sees: a small tree of frozen nodes, each with its span.

What has no node of its own is an `Other` with its sub-expressions: evaluated for what they do, then opaque.
"""

from __future__ import annotations

from collections.abc import Callable
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
    children: tuple[Expr, ...]


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


@dataclass(frozen=True, slots=True)
class Augment(Node):
    """`target op= value`; `op` without the equals sign."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """An expression as a statement; also `assert`, `raise` and `del`, whose operands are evaluated."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Raise(Node):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Jump(Node):
    """break, continue."""


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


@dataclass(frozen=True, slots=True)
class Match(Node):
    subject: Expr
    cases: tuple[tuple[tuple[str, ...], Block], ...]


@dataclass(frozen=True, slots=True)
class Function(Node):
    name: str
    params: tuple[Parameter, ...]
    made: Block | Callable[[], Block]  # its statements, or what makes them when they are first asked for
    decorators: tuple[Expr, ...]
    head: Span  # the name

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


@dataclass(frozen=True, slots=True)
class Import(Node):
    """(local name, dotted path) pairs; a star import binds nothing."""

    bindings: tuple[tuple[str, str], ...]


Stmt: TypeAlias = (
    Assign | Augment | Evaluate | Return | Raise | Jump | If | Loop | With | Try | Match | Function | Class | Import
)
Block: TypeAlias = tuple[Stmt, ...]
