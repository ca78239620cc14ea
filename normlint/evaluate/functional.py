"""Python's functions that combine values or call others: operator, functools, math and builtins over known items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from normlint.evaluate import algebra
from normlint.evaluate import syntax as s
from normlint.evaluate.binding import Args
from normlint.evaluate.monomial import NOWHERE
from normlint.evaluate.ops import pieces
from normlint.evaluate.ops.table import Arguments, Given
from normlint.evaluate.value import Pieces, Product, Tup, Value, number, scalar, tup
from normlint.text.finding import Span

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine


def operator_of(name: str) -> tuple[str, bool] | None:
    """`__rmul__` → ("*", operands the other way round)."""
    bare = name[2:-2] if name.startswith("__") and name.endswith("__") else ""
    for word, swapped in ((bare, False), (bare[1:] if bare[:1] == "r" else "", True)):
        if word in s.OPERATORS:
            return s.OPERATORS[word], swapped
    return None


def call(m: Machine, dotted: str, args: Arguments, span: Span) -> Value | None:
    """A call of one of these functions whose arguments are known; None for all others."""
    owner, _, name = dotted.partition(".")
    if args.rest or args.more:
        return None
    values = [given.value for given in args.positional]
    if owner == "operator" and name in s.OPERATORS and len(values) == 2:
        from normlint.evaluate.expressions import binary

        return binary(m, s.OPERATORS[name], values[0], values[1], span)
    handler = _FUNCTIONS.get(dotted)
    return handler(m, values, args, span) if handler and values else None


def product(items: Sequence[Value]) -> Product:
    """All of them multiplied."""
    result = number(1.0)
    for item in items:
        one = algebra.as_product(item, NOWHERE)
        result = one if result.number == 1 else algebra.multiply(result, one, one.span)
    return result


def _sum(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    one = pieces.each(m.ctx, values[0], span) if len(values) == 1 else None
    if isinstance(one, Product):
        return pieces.summed(m.ctx, one, span)
    items = values[0].items if isinstance(values[0], Tup) else ()
    products = [item for item in (*items, *values[1:]) if isinstance(item, Product)]
    if not products or len(products) < len(items):
        return None
    total = products[0]
    for item in products[1:]:
        total = algebra.add(total, item, span)
    return total


def _prod(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """math.prod(x.shape[1:]) is a count, but of which axes isn't followed."""
    items = values[0].items if isinstance(values[0], Tup) else ()
    known = items and all(isinstance(i, Product) for i in items)
    return product(items) if known else scalar(m.module.source(span)[:80])


def _reduce(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """functools.reduce(f, items, first): f of the first two, f of that and the third, and so on."""
    if len(values) < 2 or not isinstance(values[1], Tup):
        return None
    items = [*values[2:3], *values[1].items]
    if not items:
        return None
    total = items[0]
    for item in items[1:]:
        total = m.call(values[0], Args((Given(total, span), Given(item, span))), span)
    return total


def _map(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """map(f, [q, k, v]) for lists whose items are known."""
    part = _each(m, values[1:], span)
    if part is not None:
        return Pieces(m.call(values[0], Args(tuple(Given(v, span) for v in part)), span))
    rows = _rows(values[1:])
    if rows is None:
        return None
    return tup(tuple(m.call(values[0], Args(tuple(Given(v, span) for v in row)), span) for row in rows))


def _each(m: Machine, values: list[Value], span: Span) -> tuple[Value, ...] | None:
    """One item of a loop over the parts of several tensors, taken apart side by side."""
    found = [pieces.each(m.ctx, value, span) for value in values]
    return tuple(v for v in found if v is not None) if found and None not in found else None


def _rows(values: list[Value]) -> list[tuple[Value, ...]] | None:
    lists = [v.items for v in values if isinstance(v, Tup)]
    return list(zip(*lists, strict=False)) if lists and len(lists) == len(values) else None


def _zip(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    part = _each(m, values, span)
    if part is not None:
        return Pieces(Tup(part))
    rows = _rows(values)
    return tup(tuple(Tup(row) for row in rows)) if rows is not None else None


def _enumerate(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    if not isinstance(values[0], Tup) or len(values) > 1 or args.keywords:
        return None
    return tup(tuple(Tup((number(float(i)), v)) for i, v in enumerate(values[0].items)))


def _same(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    return values[0] if isinstance(values[0], Tup | Pieces) else None


def _reversed(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    return Tup(values[0].items[::-1]) if isinstance(values[0], Tup) else None


def _next(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    return values[0].items[0] if isinstance(values[0], Tup) and values[0].items else None


def _getter(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """torch.broadcast_tensors(a, b): the tensors in one shape."""
    return tup(tuple(values)) if all(isinstance(v, Product) for v in values) else None


_FUNCTIONS: dict[str, Callable[[Machine, list[Value], Arguments, Span], Value | None]] = {
    "builtins.sum": _sum, "builtins.map": _map, "builtins.zip": _zip, "builtins.enumerate": _enumerate,
    "builtins.iter": _same, "builtins.sorted": _same, "builtins.reversed": _reversed, "builtins.next": _next,
    "functools.reduce": _reduce, "math.prod": _prod, "numpy.prod": _prod, "torch.broadcast_tensors": _getter,
}  # fmt: skip
