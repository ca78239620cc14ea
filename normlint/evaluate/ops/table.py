"""What an operation is: its parameters in order, and what it makes of their values.

A method and a function are one row: the receiver is the first parameter. `axis` and `keepdims` mean dim and keepdim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from normlint.evaluate.context import Context
from normlint.evaluate.value import Constant, Product, Value
from normlint.text.finding import Span
from normlint.text.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Given:
    """An argument: its value and where it is written."""

    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Bound:
    """The arguments of one call, by parameter name; `rest` are the positional ones past the last."""

    name: str
    span: Span
    values: dict[str, Given]
    rest: tuple[Given, ...] = ()

    def get(self, name: str) -> Value | None:
        given = self.values.get(name)
        return given.value if given else None

    def span_of(self, name: str) -> Span:
        given = self.values.get(name)
        return given.span if given else self.span

    def product(self, name: str) -> Product | None:
        value = self.get(name)
        return value if isinstance(value, Product) else None

    def flag(self, name: str, default: bool) -> bool | None:
        """A Boolean argument; None where it isn't known."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, Constant) and isinstance(value.value, bool):
            return value.value
        return None

    def sequence(self, name: str) -> tuple[Given, ...]:
        """`name` and all that follows it, as in `x.view(a, b, c)`."""
        first = self.values.get(name)
        return (first, *self.rest) if first else ()


Run: TypeAlias = Callable[[Context, Bound], "Value | None"]


@dataclass(frozen=True, slots=True)
class Op:
    params: tuple[str, ...]
    run: Run


OPS: Final[dict[str, Op]] = {}
ALIASES: Final = {
    "axis": "dim",
    "keepdims": "keepdim",
    "p": "ord",
    "exponent": "ord",
    **dict.fromkeys(("x", "A", "a", "tensor"), "input"),
}
PREFIXES: Final = (
    "torch.nn.functional.", "torch.linalg.", "torch.special.", "torch.Tensor.", "torch.nn.", "torch.",
    "math.", "numpy.", "einops.", "builtins.",
)  # fmt: skip


def op(names: str, params: str) -> Callable[[Run], Run]:
    """Register a row for each of `names`."""

    def register(run: Run) -> Run:
        for name in names.split():
            OPS[name] = Op(tuple(params.split()), run)
        return run

    return register


def op_name(dotted: str) -> str | None:
    """The row for a dotted path: torch.linalg.vector_norm → vector_norm."""
    for prefix in PREFIXES:
        if dotted.startswith(prefix):
            name = dotted.removeprefix(prefix)
            return name if name in OPS else None
    return None


def bind(name: str, span: Span, positional: tuple[Given, ...], keywords: dict[str, Given]) -> Bound:
    """Match the arguments of a call with the row's parameters."""
    params = OPS[name].params
    values = dict(zip(params, positional, strict=False))
    for key, given in keywords.items():
        values[key if key in params else ALIASES.get(key, key)] = given
    return Bound(name, span, values, positional[len(params) :])
